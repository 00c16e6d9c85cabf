// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace assay {

// Two fixed pieces of our own work, in registers, on one processor: seconds of the best of a few tries.
struct ProbeTimes {
  double chain = 0;  // multiplications that wait for each other: nothing but the clock and lost time slows them
  double adds = 0;   // independent multiply-adds: so does whoever shares the core's pipes from another hardware thread
};

// One after the other, so that two threads of one core do not meet; about 0.1 ms a processor, by a thread of this
// process whose time is counted as our own there.  To be called while every arm is stopped.
std::vector<ProbeTimes> ProbeProcessors(const std::vector<int>& processors);
using Prober = std::function<std::vector<ProbeTimes>(const std::vector<int>& processors)>;

// What the probes of each group say against those of the groups before it on the same processors: whether the machine,
// not a kernel, was slow.
class ProbeLog {
 public:
  void Add(const std::vector<int>& processors, const std::vector<ProbeTimes>& times);

  // Ends a group.  By how much its probes took longer than usual, as a share; nothing with fewer than kLeast of them,
  // which say nothing.  Usual is twice a lower quartile over kGroups groups, this one among them: of the medians on the
  // same processor (they need not be equal), and of what the groups, on whatever processors, then had of it.
  std::optional<double> EndGroup();

  static constexpr size_t kLeast = 3;
  // Groups that were disturbed count too: a machine that becomes slower for good is the usual one from the sixth on.
  static constexpr size_t kGroups = 8;

 private:
  struct Kind {
    std::vector<double> now;      // seconds, of this group
    std::deque<double> by_group;  // medians
  };
  std::map<int, std::vector<Kind>> processors_;
  std::deque<double> slower_;  // by group: the most of a median over the processor's usual one, at least 1
};

}  // namespace assay
