// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sandbox/outcome.h"

// The words of the unit protocol: what is published at once, and what came of it.  It knows buffers
// and arguments, not kernels.
namespace assay {

struct PointerArgument {
  int buffer;
  int slot;
  size_t offset = 0;  // bytes from the payload's start
};
struct NullArgument {};
struct IntegerArgument {
  uint64_t bits;
};
struct FloatArgument {
  float value;
};
struct DoubleArgument {
  double value;
};
// Passed by the System V rules: the first three kinds in integer registers, then on the stack;
// floats and doubles in vector registers, then on the stack.
using CallArgument = std::variant<PointerArgument, NullArgument, IntegerArgument, FloatArgument, DoubleArgument>;

struct Call {
  int symbol = 0;  // index into SessionSpec::symbols
  std::vector<CallArgument> arguments;
};

inline constexpr size_t kMaxCalls = 256;
inline constexpr size_t kMaxArguments = 32;

struct UnitTiming {
  int64_t wall_ns = 0;  // stop to stop, null unit not yet subtracted
  int64_t cpu_ns = 0;   // of all threads; exact, because it is read while all are stopped
  int wakes = 0;        // how often the supervisor was woken; an honest unit needs one
};

// What the trampoline found after the calls.  Written by the runner, hence evidence that can only
// speak against a candidate.
struct MachineState {
  bool mxcsr_changed = false;  // control bits: rounding, flush-to-zero, denormals-are-zero, masks
  bool x87_changed = false;    // control word
  bool direction_flag = false;
  bool callee_saved_changed = false;  // rbx, rbp, r12-r15, rsp
  bool alignment_check = false;       // the flag that makes unaligned accesses trap
  bool thread_pointer = false;        // the base of the segment in which the C library keeps a thread's own memory
  bool x87_stack = false;             // not empty, or an MMX register in use
  uint32_t mxcsr = 0;                 // as first found changed
  uint16_t x87_control = 0;
  int first_call = -1;  // the first call of the unit after which anything was off
  int thread = -1;      // of the team, 0 is the main thread, where a look at all of them found it
  bool clean() const {
    return !mxcsr_changed && !x87_changed && !direction_flag && !callee_saved_changed && !alignment_check &&
           !x87_stack && !thread_pointer;
  }
};

struct Completed {
  UnitTiming timing;
  std::vector<uint64_t> integer_results;  // one per call: rax, for ENTRY_scratch and ENTRY_packed
  MachineState state;
  int threads_seen = 0;  // threads of the process when it was stopped
};

enum class FaultSide { kBefore, kInside, kAfter };

// Where a fault's address lies among the session's buffers.
struct FaultPlace {
  int buffer;
  int slot;
  FaultSide side;
  int64_t offset;  // bytes from the payload's start
};

// The process is gone (and buried); nothing can be run in this session any more.
struct Ended {
  Outcome outcome;
  std::string evidence;             // one line
  std::optional<FaultPlace> place;  // of a fault near a buffer
  int call = -1;                    // the call it was in, as far as the runner noted it
  std::string output;               // what it printed, capped
};

struct ThreadSample {
  int round;                                // 0..9
  int thread;                               // 0 is the main thread
  uint64_t program_counter;                 // 0: not readable
  std::optional<uint64_t> artifact_offset;  // when it lies in the artifact: address as in its symbol table
  bool in_system_call = false;
};

struct Hung {
  std::chrono::nanoseconds limit;
  std::vector<ThreadSample> samples;
  std::string evidence;
};

using UnitOutcome = std::variant<Completed, Ended, Hung>;

// kSleep: the supervisor blocks; for units that use every core.  kSpin: it watches the done word
// from another core, so that the end is seen within a fraction of a microsecond.
enum class WaitMode { kSleep, kSpin };

}  // namespace assay
