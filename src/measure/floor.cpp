// SPDX-License-Identifier: Apache-2.0
#include "measure/floor.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "measure/environment.h"

namespace assay {
namespace {

// Of the calibrated unit only; a rate that was not measured bounds nothing.
double PeakOf(const Work& work, const MachineRates& rates) {
  if (work.unit != "f32") return 0;
  return work.threads == 1 ? rates.f32_peak_1t : rates.f32_peak;
}

Floor TheSlower(const Work& work, double operations_rate, double bytes, double bytes_rate) {
  Floor floor;
  floor.workload = work.workload;
  floor.operations = work.operations;
  floor.bytes = work.bytes;
  const double computing = operations_rate > 0 ? work.operations / operations_rate : 0;
  const double moving = bytes_rate > 0 ? bytes / bytes_rate : 0;
  floor.seconds = std::max(computing, moving);
  if (computing >= moving && computing > 0) {
    floor.bound_by = fmt::format("{} peak", work.unit);
    floor.peak_in_run = operations_rate;
  } else if (moving > 0) {
    floor.bound_by = "bandwidth";
    floor.peak_in_run = bytes_rate;
  } else {
    floor.bound_by = "nothing that is calibrated";
  }
  return floor;
}

double BetterOf(const MachineRates& rates) { return std::max(rates.copy_bytes, rates.triad_bytes); }

}  // namespace

Result<Work> WorkOf(const Contract& contract, const Workload& workload, const Shape& shape, int threads) {
  Work work;
  work.workload = workload.name;
  work.state = workload.state;
  work.threads = threads;
  work.last_level_bytes = LastLevelCacheBytes();
  // A contract may say nothing of its cost; then nothing is bounded by operations.
  if (contract.cost) {
    ASSAY_TRY(work.operations, Operations(contract, shape));
    work.unit = contract.cost->unit;
  }
  ASSAY_TRY(work.bytes, BytesTouched(contract, shape));
  return work;
}

Floor ReferenceFloor(const Work& work, const MachineRates& rates) {
  // In situ the producer may have left everything in a cache.
  const bool hot = work.state == CacheState::kHot || work.state == CacheState::kInSitu;
  const double in_cache = hot ? static_cast<double>(work.last_level_bytes) : 0;
  return TheSlower(work, PeakOf(work, rates), std::max(0.0, work.bytes - in_cache), BetterOf(rates));
}

Floor ImpossibleFloor(const Work& work, const MachineRates& best) {
  // Even a cold workload gets the credit: that the caches were really empty is not what should
  // decide between a fast kernel and a fraud.
  const double in_cache = static_cast<double>(work.last_level_bytes);
  Floor floor = TheSlower(work, PeakOf(work, best), std::max(0.0, work.bytes - in_cache), BetterOf(best));
  floor.seconds *= 1 - kImpossibleSlack;
  return floor;
}

std::optional<std::string> Implausible(double seconds, const Work& work, const MachineRates& best) {
  const Floor floor = ImpossibleFloor(work, best);
  if (seconds >= floor.seconds) return std::nullopt;
  if (floor.bound_by == "bandwidth") {
    return fmt::format("{} a call on {}, but ({:.0f} - {} cached) bytes / {:.1f} GB/s x {:.2f} = {}", Seconds(seconds),
                       work.workload, work.bytes, work.last_level_bytes, floor.peak_in_run / 1e9, 1 - kImpossibleSlack,
                       Seconds(floor.seconds));
  }
  return fmt::format("{} a call on {}, but {:.0f} operations / {:.1f} G/s x {:.2f} = {}", Seconds(seconds),
                     work.workload, work.operations, floor.peak_in_run / 1e9, 1 - kImpossibleSlack,
                     Seconds(floor.seconds));
}

}  // namespace assay
