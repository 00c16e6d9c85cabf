// SPDX-License-Identifier: Apache-2.0
#include "measure/floor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "measure/environment.h"
#include "numerics/dtype.h"

namespace assay {
namespace {

// A register holds twice as many values of half the width, and no vector unit multiplies more than all of them.
// Beside their multiply-adds some cores add in pipes of their own, half as much again: a kernel that only sums need
// not stop at the peak of multiply-adds.
constexpr double kAddersBeside = 1.5;
// Tiles do 1024 operations on values of 16 bits in a cycle and 2048 on bytes; f32 in two vector pipes is 64.  Three
// products of bf16 pass for one of f32 where a sum is long, twenty of bytes for one of f64.
constexpr double kTilesOfBytes = 32, kTilesOf16 = 16, kTilesForF32 = 6, kTilesForF64 = 2;
constexpr std::array<std::string_view, 5> kKnownTiles = {"amx_tile", "amx_bf16", "amx_int8", "amx_fp16", "amx_complex"};

// Rates with all threads of a run say nothing of a workload with more.
bool Covers(const MachineRates& rates, const Work& work) { return rates.threads == 0 || work.threads <= rates.threads; }

double Of(const Work& work, const MachineRates& rates, double one_thread, double all_threads) {
  if (work.threads == 1) return one_thread;
  return Covers(rates, work) ? all_threads : 0;
}

double PeakOf(const std::string& element, const Work& work, const MachineRates& rates) {
  if (element == "f32") return Of(work, rates, rates.f32_peak_1t, rates.f32_peak);
  for (const ElementPeak& peak : rates.peaks) {
    if (peak.element == element) return Of(work, rates, peak.one_thread, peak.all_threads);
  }
  return 0;
}

double MemoryRate(const Work& work, const MachineRates& rates) {
  return Covers(rates, work) ? std::max({rates.copy_bytes, rates.triad_bytes, rates.read_bytes}) : 0;
}

Floor NoFloor(const Work& work) {
  Floor floor;
  floor.workload = work.workload;
  floor.operations = work.operations;
  floor.bytes = work.bytes;
  floor.bound_by = "nothing that was measured";
  return floor;
}

// The slower of what bounds already and this; a rate that was not measured, or is no number, bounds nothing.
void Bound(Floor& floor, double amount, double rate, std::string by, bool calibrated = false) {
  if (!(rate > 0) || !std::isfinite(rate) || !(amount > 0)) return;
  const double seconds = amount / rate;
  if (!(seconds > floor.seconds)) return;
  floor.seconds = seconds;
  floor.bound_by = std::move(by);
  floor.peak_in_run = rate;
  floor.calibrated = calibrated;
}

// The types in which a kernel may honestly do what the unit counts, by what is measured.
std::vector<std::string> ElementsOf(const Work& work) {
  const bool tiles = work.multipliers == Multipliers::kTiles;
  // A peak of vector registers would be beaten by tiles, and a share of it above one says nothing.
  if (work.unit == "bf16") return tiles ? std::vector<std::string>() : std::vector<std::string>{"bf16", "f32"};
  if (work.unit == "i8" && tiles) return {};
  return {work.unit};
}

void BoundByCaches(Floor& floor, const Work& work, const MachineRates& rates) {
  double nearer = 0;
  for (const CacheRate& cache : rates.caches) {
    const double beyond = work.bytes - nearer;
    Bound(floor, beyond, Of(work, rates, cache.one_thread, cache.all_threads),
          fmt::format("L{} bandwidth", cache.level), true);
    const int sharers = std::max(cache.sharers, 1);
    nearer = std::max(nearer, static_cast<double>(cache.bytes) * ((work.threads + sharers - 1) / sharers));
  }
}

int NarrowestBits(const Contract& contract) {
  int bits = 64;
  for (const Tensor& tensor : contract.tensors) {
    bits = std::min(bits, Info(tensor.dtype).bits);
    if (tensor.compare) bits = std::min(bits, Info(tensor.compare->in).bits);
  }
  return bits;
}

}  // namespace

Multipliers MultipliersOf(std::span<const std::string> features) {
  const auto has = [&](std::string_view name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  if (!has("fma") || !has("avx2")) return Multipliers::kUnknown;
  Multipliers found = Multipliers::kVectors;
  for (const std::string& feature : features) {
    if (!feature.starts_with("amx")) continue;
    if (std::find(kKnownTiles.begin(), kKnownTiles.end(), feature) == kKnownTiles.end()) return Multipliers::kUnknown;
    found = Multipliers::kTiles;
  }
  return found;
}

std::optional<double> MostOverF32(Multipliers multipliers, int bits) {
  const int width = bits >= 64 ? 64 : bits >= 32 ? 32 : bits >= 16 ? 16 : 8;
  const double vectors = kAddersBeside * 32 / width;
  switch (multipliers) {
    case Multipliers::kUnknown:
      return std::nullopt;
    case Multipliers::kVectors:
      return vectors;
    case Multipliers::kTiles:
      return std::max(vectors, width == 64   ? kTilesForF64
                               : width == 32 ? kTilesForF32
                               : width == 16 ? kTilesOf16
                                             : kTilesOfBytes);
  }
  return std::nullopt;
}

Result<Work> WorkOf(const Contract& contract, const Workload& workload, const Shape& shape, int threads) {
  Work work;
  work.workload = workload.name;
  work.state = workload.state;
  work.threads = threads;
  work.cache_bytes = AllCachesBytes();
  work.multipliers = MultipliersOf(ThisMachine().features);
  work.narrowest_bits = NarrowestBits(contract);
  // A contract may say nothing of its cost; then nothing is bounded by operations.
  if (contract.cost) {
    ASSAY_TRY(work.operations, Operations(contract, shape));
    work.unit = contract.cost->unit;
    // Products of narrower values may be made by units for those, which are faster: a share of the f32 peak above one
    // would say nothing.
    if (work.unit == "f32" && work.narrowest_bits <= 16) work.unit = "bf16";
  }
  ASSAY_TRY(work.bytes, BytesTouched(contract, shape));
  return work;
}

Floor ReferenceFloor(const Work& work, const MachineRates& rates) {
  Floor floor = NoFloor(work);
  std::string fastest;
  double peak = 0;
  for (const std::string& element : ElementsOf(work)) {
    const double of_element = PeakOf(element, work, rates);
    if (!(of_element > peak)) continue;
    peak = of_element;
    fastest = element;
  }
  Bound(floor, work.operations, peak, fastest + " peak");
  const bool hot = work.state == CacheState::kHot;
  if (hot) BoundByCaches(floor, work, rates);
  // In situ the producer may have left everything in a cache, and in any of them.
  const double in_cache = hot || work.state == CacheState::kInSitu ? static_cast<double>(work.cache_bytes) : 0;
  Bound(floor, work.bytes - in_cache, MemoryRate(work, rates), "memory bandwidth");
  return floor;
}

Floor ImpossibleFloor(const Work& work, const MachineRates& best) {
  Floor floor = NoFloor(work);
  const std::optional<DType> unit = ParseDType(work.unit);
  const auto most =
      unit ? MostOverF32(work.multipliers, std::min(Info(*unit).bits, work.narrowest_bits)) : std::nullopt;
  const double f32 = PeakOf("f32", work, best);
  if (most && f32 > 0) {
    // Never less than what was seen, whatever the argument for the factor is worth.
    const double rate = *most * f32, seen = PeakOf(work.unit, work, best);
    Bound(floor, work.operations, std::max(rate, seen),
          seen > rate ? work.unit + " peak" : fmt::format("{:g} x the f32 peak", *most));
  }
  // Even a cold workload gets the credit: that the caches were really empty is not what should
  // decide between a fast kernel and a fraud.
  Bound(floor, work.bytes - static_cast<double>(work.cache_bytes), MemoryRate(work, best), "memory bandwidth");
  floor.seconds *= 1 - kImpossibleSlack;
  return floor;
}

std::optional<std::string> Implausible(double seconds, const Work& work, const MachineRates& best) {
  const Floor floor = ImpossibleFloor(work, best);
  if (seconds >= floor.seconds) return std::nullopt;
  if (floor.OfBytes()) {
    return fmt::format("{} a call on {}, but ({:.0f} - {} cached) bytes / {:.1f} GB/s x {:.2f} = {}", Seconds(seconds),
                       work.workload, work.bytes, work.cache_bytes, floor.peak_in_run / 1e9, 1 - kImpossibleSlack,
                       Seconds(floor.seconds));
  }
  return fmt::format("{} a call on {}, but {:.0f} operations / {:.1f} G/s ({}) x {:.2f} = {}", Seconds(seconds),
                     work.workload, work.operations, floor.peak_in_run / 1e9, floor.bound_by, 1 - kImpossibleSlack,
                     Seconds(floor.seconds));
}

}  // namespace assay
