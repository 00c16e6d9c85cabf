// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay {

// What the kernel says about a stopped process: nothing here is the process's own word.
struct ProcessFacts {
  struct Thread {
    std::string name, processors, blocked_signals;
    bool operator==(const Thread&) const = default;
  };
  bool readable = false;
  std::map<int, Thread> threads;     // by number
  std::string ignored, caught;       // signals, as masks
  std::set<std::string> executable;  // "7f12..-7f13.. r-xp /lib/libm.so.6"
  bool timers = false;               // POSIX timers; interval timers cannot be seen from outside
};

ProcessFacts ReadProcessFacts(pid_t pid);

// What is not as it was, a phrase each; none where either could not be read.  `pinned`: the supervisor itself moves
// threads to processors.
std::optional<std::vector<std::string>> ChangesBetween(const ProcessFacts& before, const ProcessFacts& after,
                                                       bool pinned);

}  // namespace assay
