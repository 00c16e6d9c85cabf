// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "record/timing.h"

namespace assay {

// What a workload costs by its contract, and where its data lie when it starts.
struct Work {
  std::string workload;
  double operations = 0;
  double bytes = 0;
  std::string unit = "f32";
  CacheState state = CacheState::kHot;
  int threads = 1;
  int64_t last_level_bytes = 0;  // of the machine's largest cache
};

Result<Work> WorkOf(const Contract& contract, const Workload& workload, const Shape& shape, int threads);

// The least time by the rates of this run; printed, never enforced.  Cold: every byte comes from
// memory, at the better of copy and triad.  Hot and in situ: only what exceeds the last-level cache must.  In situ it
// is the least time of the kernel alone, without its neighbours, so it bounds their sum as well. A unit whose peak is
// not calibrated (anything but f32) is bounded by bandwidth alone.
Floor ReferenceFloor(const Work& work, const MachineRates& rates);

// The time below which an answer cannot have been computed: the best rates ever seen here, a cache
// credit of min(bytes, last level), and 10 % of slack.  It refuses, so it errs on the safe side.
inline constexpr double kImpossibleSlack = 0.10;
Floor ImpossibleFloor(const Work& work, const MachineRates& best);

// The arithmetic, when `seconds` lies below the impossible floor.
std::optional<std::string> Implausible(double seconds, const Work& work, const MachineRates& best);

}  // namespace assay
