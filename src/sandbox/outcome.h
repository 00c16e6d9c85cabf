// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace assay {

// What a dying process left behind about its fault.  The signal handler that wrote it shares its
// memory with the candidate, so all of it is evidence for a reader and none of it decides anything.
struct FaultFacts {
  uint64_t address = 0;
  uint64_t program_counter = 0;
  bool write = false;  // the access was a store
  friend bool operator==(const FaultFacts&, const FaultFacts&) = default;
};

struct Exited {
  int code;
  friend bool operator==(const Exited&, const Exited&) = default;
};

struct Signaled {
  int signal;
  std::optional<FaultFacts> fault;
  friend bool operator==(const Signaled& a, const Signaled& b) { return a.signal == b.signal; }
};

struct TimedOut {
  std::chrono::milliseconds limit;
  friend bool operator==(const TimedOut&, const TimedOut&) = default;
};

// A system call that the walls refuse; the process was killed before the kernel executed it.
struct ForbiddenCall {
  int64_t number;
  std::string name;  // "socket", "i386 call 1", "clone (thread beyond the budget)"
  std::array<uint64_t, 6> arguments{};
  friend bool operator==(const ForbiddenCall& a, const ForbiddenCall& b) {
    return a.number == b.number && a.name == b.name;
  }
};

struct OutOfMemory {
  uint64_t limit_bytes;
  friend bool operator==(const OutOfMemory&, const OutOfMemory&) = default;
};

// What became of a process.  Exactly one alternative holds, so nobody has to guess which of exit
// code, signal and time-out flag to believe.
using Outcome = std::variant<Exited, Signaled, TimedOut, ForbiddenCall, OutOfMemory>;

// One line for a reader: "killed by SIGSEGV (store to 0x7f..)", "socket(AF_INET, SOCK_STREAM, 0)".
std::string Describe(const Outcome& outcome);

}  // namespace assay
