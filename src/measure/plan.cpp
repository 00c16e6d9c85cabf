// SPDX-License-Identifier: Apache-2.0
#include "measure/plan.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "measure/environment.h"

namespace assay {
namespace {

constexpr double kFull = 3;  // within this of the fastest: all units
constexpr double kSlow = 8;  // beyond it one unit, else two
constexpr double kLongSeconds = 10e-3;
// Of short units the median of three would often be a stranger's time slice; of what is eight times slower, or lasts
// longer than a slice, three are enough.
constexpr int kCensusUnits = 5, kCensusFew = 3;
constexpr double kCensusLongSeconds = 5e-3;

template <typename T>
void Shuffle(std::vector<T>& values, Stream& stream) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[stream.Below(i)]);
}

int FullUnits(double unit_seconds, Depth depth) {
  switch (depth) {
    case Depth::kCensus:
      return unit_seconds >= kCensusLongSeconds ? kCensusFew : kCensusUnits;
    case Depth::kEstimate:
      return unit_seconds >= kLongSeconds ? 3 : 4;
    case Depth::kRank:
      return unit_seconds >= kLongSeconds ? 4 : 6;
    case Depth::kDecide:
      return unit_seconds >= kLongSeconds ? 6 : 12;
  }
  return 6;
}

}  // namespace

UnitLimits UnitLimits::OfThisMachine() {
  UnitLimits limits;
  limits.hot_bytes = LastLevelCacheBytes() / 2;
  const int64_t memory = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  limits.slot_bytes = std::min(limits.slot_bytes, memory / 40);
  return limits;
}

int CallsPerUnit(double fastest_seconds, int64_t bytes_per_call, int64_t warm_bytes, const UnitLimits& limits) {
  if (fastest_seconds >= limits.alone_seconds) return 1;
  const int64_t bytes = std::max<int64_t>(bytes_per_call, 1);
  int64_t most = std::min<int64_t>(limits.most_calls, limits.slot_bytes / bytes);
  if (warm_bytes == 0 && bytes >= limits.cold_pair_bytes && fastest_seconds >= limits.cold_pair_seconds)
    most = std::min<int64_t>(most, 2);
  // A call that overflows the cache by itself is no colder in company.
  if (warm_bytes > 0 && warm_bytes <= limits.hot_bytes) most = std::min(most, limits.hot_bytes / warm_bytes);
  const double wanted = std::ceil(limits.target_seconds / std::max(fastest_seconds, 1e-9));
  return static_cast<int>(std::clamp<double>(wanted, 1, static_cast<double>(std::max<int64_t>(most, 1))));
}

ArmUnits UnitsFor(double seconds, double fastest_seconds, int calls, Depth depth) {
  const double times_slower = seconds / std::max(fastest_seconds, 1e-9);
  ArmUnits units;
  units.calls = calls;
  if (depth == Depth::kCensus) {
    // A restart is judged by these alone: one cold first call of a slow arm would be no judgement.
    units.units = times_slower <= kSlow ? FullUnits(fastest_seconds * calls, depth) : kCensusFew;
  } else if (times_slower <= kFull) {
    units.units = FullUnits(fastest_seconds * calls, depth);
  } else {
    units.units = times_slower <= kSlow && depth != Depth::kEstimate ? 2 : 1;
  }
  if (times_slower > kSlow) units.calls = std::max(1, static_cast<int>(calls * kSlow / times_slower));
  if (calls > 1 && depth != Depth::kCensus)
    units.gated = times_slower <= kFull ? (depth == Depth::kDecide ? 12 : 6) : 2;
  return units;
}

Result<int64_t> WarmBytes(const Contract& contract, const Shape& shape, CacheState state, int64_t bytes_per_call) {
  if (state == CacheState::kCold) return int64_t{0};
  int64_t weights = 0;
  for (const Tensor& tensor : contract.tensors) {
    if (state != CacheState::kWeightsCold || !tensor.prepare || shape.absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
    weights += layout.byte_span;
  }
  return std::max<int64_t>(0, bytes_per_call - weights);
}

std::vector<std::vector<int>> BalancedRounds(std::span<const int> units_per_arm, Stream& stream) {
  const int most = units_per_arm.empty() ? 0 : *std::max_element(units_per_arm.begin(), units_per_arm.end());
  std::vector<std::vector<int>> rounds(static_cast<size_t>(most));
  std::vector<int> order(units_per_arm.size());
  std::iota(order.begin(), order.end(), 0);
  // Where in the rounds an arm with few units starts is drawn, the distance between them is even.
  std::vector<int> phase;
  for (size_t arm = 0; arm < units_per_arm.size(); ++arm)
    phase.push_back(most > 0 ? static_cast<int>(stream.Below(static_cast<uint64_t>(most))) : 0);
  for (int round = 0; round < most; ++round) {
    if (round % 2 == 0) {
      Shuffle(order, stream);
    } else {
      std::reverse(order.begin(), order.end());
    }
    for (const int arm : order) {
      const int units = units_per_arm[static_cast<size_t>(arm)];
      const int place = (round + phase[static_cast<size_t>(arm)]) % most;
      // Of `most` places exactly `units` begin a new one.
      if (place * units / most != (place + 1) * units / most) rounds[static_cast<size_t>(round)].push_back(arm);
    }
  }
  return rounds;
}

std::vector<size_t> DrawSlots(size_t slots, size_t count, Stream& stream) {
  ASSAY_CHECK(count <= slots);
  std::vector<size_t> all(slots);
  std::iota(all.begin(), all.end(), size_t{0});
  Shuffle(all, stream);
  all.resize(count);
  return all;
}

}  // namespace assay
