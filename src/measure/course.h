// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/floor.h"
#include "measure/group.h"
#include "record/seams.h"

namespace assay {

// One workload of a contract, ready to be timed.
struct Course {
  const Workload* workload = nullptr;
  Shape shape;
  int threads = 1;
  Work work;
  std::string beside;  // who runs before and behind its kernels, in words
  std::unique_ptr<GroupRunner> runner;
  std::vector<std::unique_ptr<KernelChain>> sequences;  // peers of several kernels, at this shape
};

// All that were asked for, headline first.  `threads` > 0 overrides workload and policy; 0 there
// means all processors, and more than there are is an error.  `builder` makes the neighbours of in-situ workloads and
// the steps of sequences, of which the fastest are chosen: nothing else may be timed meanwhile.
Result<std::vector<Course>> CoursesOf(const Contract& contract, const std::vector<std::string>& names, int threads,
                                      Auditor& auditor, const Seed& seed, Builder* builder = nullptr);

// For a group of this course: its threads, and what this machine allows.
GroupOptions OptionsOf(const Course& course, Depth depth);

// Names for the arms of one group: what people call the artifacts, made unique where they clash with each other or
// with what is `taken`.
std::vector<std::string> ArmNames(std::span<const Artifact* const> artifacts, std::set<std::string> taken = {});

}  // namespace assay
