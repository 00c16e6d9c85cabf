// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "record/timing.h"

namespace assay {

// What this processor can multiply with, as far as this version knows it.
enum class Multipliers {
  kUnknown,  // something may be faster than what is measured
  kVectors,  // vector registers with fused multiply-adds
  kTiles,    // and tiles (AMX), which are not measured
};
// Of Machine::features.
Multipliers MultipliersOf(std::span<const std::string> features);

// What a workload costs by its contract, and where its data lie when it starts.
struct Work {
  std::string workload;
  double operations = 0;
  double bytes = 0;
  std::string unit = "f32";
  int narrowest_bits = 32;  // of the values of all tensors and of the precision that is asked of them
  CacheState state = CacheState::kHot;
  int threads = 1;
  int64_t cache_bytes = 0;  // of all caches of the machine together
  Multipliers multipliers = Multipliers::kUnknown;
};

Result<Work> WorkOf(const Contract& contract, const Workload& workload, const Shape& shape, int threads);

// The least time by the rates of this run and by those of the caches, where these were calibrated;
// printed, never enforced.  Operations: the peak of the contract's unit.  Cold: every byte comes from
// memory, at the best of copy, triad and reading.  Hot: memory gives what exceeds all caches, each
// cache what exceeds the nearer ones; nothing lies in a first level.  What was not measured, or with
// fewer threads than the workload has, bounds nothing.  In situ
// it is the least time of the kernel alone, wherever its producer left the data, so that it bounds their sum as well.
Floor ReferenceFloor(const Work& work, const MachineRates& rates);

// The time below which an answer cannot have been computed: the best rates ever seen here, a cache
// credit of min(bytes, all caches), and 10 % of slack.  It refuses, so it errs on the safe side.
inline constexpr double kImpossibleSlack = 0.10;
Floor ImpossibleFloor(const Work& work, const MachineRates& best);

// How many times the f32 peak of vector registers no kernel exceeds that works on values of so many
// bits; none: nobody knows.
std::optional<double> MostOverF32(Multipliers multipliers, int bits);

// The arithmetic, when `seconds` lies below the impossible floor.
std::optional<std::string> Implausible(double seconds, const Work& work, const MachineRates& best);

}  // namespace assay
