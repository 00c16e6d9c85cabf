// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// The memory that the supervisor and the runner share.  Two files, because trust differs:
// `Plan` is written by the supervisor only (the runner's mapping cannot be made writable), `Report`
// by whatever runs in the runner, hence by the candidate.  Of `Report` the supervisor believes one
// word, `done`, and that it means only "woken"; the rest is copied once, checked against bounds (report.h) and
// used as evidence against a candidate, never for it.
namespace assay::ring {

inline constexpr uint32_t kMagic = 0x59415341;
inline constexpr uint32_t kVersion = 3;
inline constexpr uint32_t kCalls = 256;
inline constexpr uint32_t kArguments = 32;
inline constexpr uint32_t kSymbols = 8;
inline constexpr uint32_t kBuffers = 64;
inline constexpr uint32_t kMappings = 8192;
inline constexpr uint32_t kText = 4096;
inline constexpr uint32_t kTeam = 256;  // threads whose state is looked at

// Descriptors with which the runner starts; 0-2 are the null device and the capped output.
inline constexpr int kNotifyFd = 3;  // a socket to pid 1 over which the seccomp listener travels
inline constexpr int kPlanFd = 4;
inline constexpr int kReportFd = 5;
inline constexpr int kArtifactFd = 6;
inline constexpr int kFirstBufferFd = 7;

enum class ArgumentKind : uint32_t { kInteger, kFloat, kDouble };

struct Argument {
  ArgumentKind kind;
  uint32_t zero;
  uint64_t bits;  // pointers are already addresses of the runner
};

struct CallPlan {
  uint32_t symbol;
  uint32_t count;
  Argument arguments[kArguments];
};

// One slot of one buffer.
struct Mapping {
  uint64_t address;
  uint64_t bytes;
  uint64_t file_offset;
  int32_t fd;
  uint32_t writable;
};

enum class FilterMode : uint32_t {
  kNone,    // seccomp is refused here
  kTrap,    // refused calls end in the runner's own SIGSYS handler
  kNotify,  // refused calls go to pid 1
};

// What the runner reads once, before a candidate is loaded.
struct StartPlan {
  uint32_t threads;
  uint32_t trusted;
  uint32_t populate;  // 1: every page is there before the first call
  FilterMode filter;  // the most to try
  uint32_t mapping_count;
  uint32_t symbol_count;
  uint32_t process_limit;    // RLIMIT_NPROC from here on; 0: as it is
  uint64_t reserve_address;  // the buffers' address range; what no slot covers stays inaccessible
  uint64_t reserve_bytes;
  uint64_t stack_offset;
  char artifact[256];
  char symbols[kSymbols][256];
  Mapping mappings[kMappings];
};

struct Plan {
  uint32_t magic;
  uint32_t version;
  std::atomic<uint32_t> sequence;  // a futex: the runner sleeps while it is unchanged
  uint32_t call_count;
  uint32_t inspect;  // 1: after the calls each thread of the team tells its control registers
  CallPlan calls[kCalls];
  StartPlan start;
};

enum class Stage : uint32_t { kStarting, kLoading, kReady, kOpenFailed, kSymbolFailed, kBroken };

struct FaultReport {
  uint32_t signal;  // 0: none
  uint32_t write;
  uint64_t address;
  uint64_t program_counter;
  uint32_t memory_exhausted;  // a fresh mapping failed too: the fault is most likely a null from malloc
  uint32_t call_valid;
  int64_t call_number;  // SIGSYS
  uint64_t call_arguments[6];
  uint32_t call_arch;
  uint32_t zero;
};

struct StateReport {
  uint32_t changes;  // bits below
  uint32_t mxcsr;
  uint32_t x87_control;
  uint32_t first_call;
};
inline constexpr uint32_t kMxcsrChanged = 1;
inline constexpr uint32_t kX87Changed = 2;
inline constexpr uint32_t kDirectionFlag = 4;
inline constexpr uint32_t kCalleeSavedChanged = 8;
inline constexpr uint32_t kAlignmentCheck = 16;
inline constexpr uint32_t kX87Stack = 32;
inline constexpr uint32_t kThreadPointer = 64;

// What one thread of the team found in its own registers, when asked.
struct ThreadState {
  uint32_t mxcsr;
  uint16_t x87_control;
  uint16_t x87_tags;  // all ones: the stack is empty, and no MMX register is in use
  uint32_t flags;
  uint32_t zero;
};

struct Report {
  std::atomic<uint32_t> done;  // the sequence that was executed; kDead when the process ended
  Stage stage;
  uint64_t artifact_base;
  uint64_t artifact_bytes;
  uint32_t calls_begun;
  uint32_t filter;  // FilterMode that stands
  StateReport state;
  FaultReport fault;
  uint64_t results[kCalls];
  uint32_t inspected;  // threads that filled their entry below
  uint32_t zero;
  ThreadState team[kTeam];
  char text[kText];
};

// The highest value is no sequence.  Written by pid 1 on the runner's behalf.
inline constexpr uint32_t kDead = 0xffffffff;

// The system call by which the runner tells pid 1, through the filter's own channel, that the
// candidate is loaded; from then on no file is opened and nothing becomes executable.  A call that
// no computation needs, and that is refused once it has been used.
inline constexpr long kLatchCall = 111;  // getpgrp

static_assert(std::is_standard_layout_v<Plan> && std::is_standard_layout_v<Report>);
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);

}  // namespace assay::ring
