// SPDX-License-Identifier: Apache-2.0
#include "measure/calibration_judge.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "numerics/dtype.h"

namespace assay {
namespace {

constexpr double kSlowestClock = 0.5e9, kFastestClock = 7e9;

bool Sound(const BestAndMedian& tries) {
  return tries.best > 0 && tries.median > 0 && std::isfinite(tries.best) && std::isfinite(tries.median);
}

// One thread against all of them; `of` makes the text of a figure.
template <typename Text>
std::optional<std::string> RefuseTogether(double one, double all, int threads, const std::string& what, Text&& of) {
  if (!(all >= kLeastOfOne * one)) {
    return fmt::format("{}: {} with {} threads is below {} of {} with one", what, of(all), threads, kLeastOfOne,
                       of(one));
  }
  if (!(all <= kMostOfAll * threads * one)) {
    return fmt::format("{}: {} with {} threads is more than {} x {} x {} with one", what, of(all), threads, kMostOfAll,
                       threads, of(one));
  }
  return std::nullopt;
}

std::string Rate(double per_second) { return fmt::format("{:.1f} G/s", per_second / 1e9); }
std::string Speed(double bytes) { return fmt::format("{:.1f} GB/s", bytes / 1e9); }
std::string Nanoseconds(double seconds) { return fmt::format("{:.2f} ns", seconds * 1e9); }

std::string AccessName(const StreamFigure& stream) {
  return stream.access + (stream.around ? " around the caches" : "");
}

bool SameWork(const StreamFigure& a, const StreamFigure& b) {
  return a.access == b.access && a.threads == b.threads && !a.around && !b.around;
}

}  // namespace

std::optional<std::string> RefuseClock(double clock_hz) {
  if (clock_hz >= kSlowestClock && clock_hz <= kFastestClock) return std::nullopt;
  return fmt::format("the clock: {:.3f} GHz lies outside of {:.1f} to {:.1f} GHz", clock_hz / 1e9, kSlowestClock / 1e9,
                     kFastestClock / 1e9);
}

std::optional<std::string> RefusePeaks(std::span<const PeakFigure> peaks, int threads, double clock_hz) {
  if (auto why = RefuseClock(clock_hz)) return why;
  if (peaks.empty()) return "peak: nothing was measured";
  for (const PeakFigure& peak : peaks) {
    const std::string what = fmt::format("{} peak", peak.element);
    if (!Sound(peak.per_second)) return fmt::format("{}: {} is no rate", what, Rate(peak.per_second.best));
    if (auto why = RefuseClock(peak.clock_hz)) return why;
    const std::optional<DType> element = ParseDType(peak.element);
    if (!element) return fmt::format("peak: {} is no element type", peak.element);
    const int bits = peak.lanes * Traits(*element).bits;
    const double most = 2.0 * peak.lanes * MostPipes(bits) * clock_hz * peak.threads;
    if (!(peak.per_second.best <= (1 + kClockMoves) * most)) {
      return fmt::format("{}: {} with {} thread(s) is more than 2 x {} lanes x {} pipes x {:.2f} GHz x {} = {}", what,
                         Rate(peak.per_second.best), peak.threads, peak.lanes, MostPipes(bits), clock_hz / 1e9,
                         peak.threads, Rate(most));
    }
    for (const PeakFigure& all : peaks) {
      if (peak.threads != 1 || all.threads != threads || all.element != peak.element) continue;
      if (auto why = RefuseTogether(peak.per_second.best, all.per_second.best, threads, what, Rate)) return why;
    }
  }
  return std::nullopt;
}

std::optional<std::string> RefuseStreams(std::span<const StreamFigure> streams, int threads, double clock_hz) {
  if (streams.empty()) return "bandwidth: nothing was measured";
  for (const StreamFigure& stream : streams) {
    if (Sound(stream.bytes_per_second)) continue;
    return fmt::format("{} {}: {} is no bandwidth", stream.level, AccessName(stream),
                       Speed(stream.bytes_per_second.best));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    const StreamFigure& near = streams[i];
    const double best = near.bytes_per_second.best;
    const std::string what = fmt::format("{} {}", near.level, AccessName(near));
    const double most = (1 + kClockMoves) * kMostBytesPerCycle * clock_hz * near.threads;
    if (!(best <= most)) {
      return fmt::format("{}: {} with {} thread(s) is more than the {} that a core's ports let through", what,
                         Speed(best), near.threads, Speed(most));
    }
    for (size_t j = 0; j < streams.size(); ++j) {
      const StreamFigure& other = streams[j];
      if (j > i && SameWork(near, other) && !(other.bytes_per_second.best <= (1 + kOrderSlack) * best)) {
        return fmt::format("{} with {} thread(s): {} from {} is faster than {} from {}, which is nearer", near.access,
                           near.threads, Speed(other.bytes_per_second.best), other.level, Speed(best), near.level);
      }
      if (near.threads != 1 || other.threads != threads || other.level != near.level || other.access != near.access ||
          other.around != near.around)
        continue;
      if (auto why = RefuseTogether(best, other.bytes_per_second.best, threads, what, Speed)) return why;
    }
  }
  return std::nullopt;
}

std::optional<std::string> RefuseLatencies(std::span<const LatencyFigure> latencies, double clock_hz) {
  if (latencies.empty()) return "latency: nothing was measured";
  const LatencyFigure* nearer = nullptr;
  for (const LatencyFigure& latency : latencies) {
    const double best = latency.seconds.best;
    if (!Sound(latency.seconds)) return fmt::format("latency of {}: {} is no time", latency.level, Nanoseconds(best));
    const double least = (1 - kClockMoves) * kLeastLoadCycles / clock_hz;
    if (!(best >= least)) {
      return fmt::format("latency of {}: {} is less than {}, {} cycles", latency.level, Nanoseconds(best),
                         Nanoseconds(least), kLeastLoadCycles);
    }
    if (nearer != nullptr && !(best >= (1 - kOrderSlack) * nearer->seconds.best)) {
      return fmt::format("latency of {}: {} is below the {} of {}, which is nearer", latency.level, Nanoseconds(best),
                         Nanoseconds(nearer->seconds.best), nearer->level);
    }
    nearer = &latency;
  }
  return std::nullopt;
}

std::optional<std::string> RefuseOverheads(std::span<const OverheadFigure> overheads, int backwards) {
  if (backwards != 0)
    return fmt::format("time went backwards: {} readings of the clock lay before an earlier one", backwards);
  if (overheads.empty()) return "overheads: nothing was measured";
  const auto find = [&](Overhead what) -> const OverheadFigure* {
    const auto found =
        std::find_if(overheads.begin(), overheads.end(), [&](const OverheadFigure& c) { return c.what == what; });
    return found == overheads.end() ? nullptr : &*found;
  };
  for (const OverheadFigure& cost : overheads) {
    if (!Sound(cost.seconds)) return fmt::format("{}: {} is no time", Name(cost.what), Nanoseconds(cost.seconds.best));
  }
  // What does more costs at least as much.
  const std::pair<Overhead, Overhead> ordered[] = {
      {Overhead::kIndirectCall, Overhead::kSystemCall}, {Overhead::kSystemCall, Overhead::kFault4K},
      {Overhead::kFault4K, Overhead::kFault2M},         {Overhead::kSystemCall, Overhead::kForkJoinSleep},
      {Overhead::kSystemCall, Overhead::kWakeUp},       {Overhead::kSystemCall, Overhead::kNullUnit}};
  for (const auto& [less, more] : ordered) {
    const OverheadFigure *a = find(less), *b = find(more);
    if (a == nullptr || b == nullptr || b->seconds.best >= a->seconds.best) continue;
    return fmt::format("{}: {} is below the {} of {}, which does less", Name(more), Nanoseconds(b->seconds.best),
                       Nanoseconds(a->seconds.best), Name(less));
  }
  return std::nullopt;
}

std::optional<std::string> RefuseNoise(const NoiseFigure& noise) {
  if (noise.pairs == 0) return std::nullopt;
  if (noise.pairs > 0 && noise.median >= 0 && noise.p90 >= noise.median && std::isfinite(noise.p90))
    return std::nullopt;
  return fmt::format("noise: a 90th percentile of {} is below the median of {}", noise.p90, noise.median);
}

std::optional<std::string> RefuseAll(const Calibration& calibration) {
  if (auto why = RefusePeaks(calibration.peaks, calibration.threads, calibration.clock_hz)) return why;
  if (auto why = RefuseStreams(calibration.streams, calibration.threads, calibration.clock_hz)) return why;
  if (auto why = RefuseLatencies(calibration.latencies, calibration.clock_hz)) return why;
  if (auto why = RefuseOverheads(calibration.overheads, 0)) return why;
  return RefuseNoise(calibration.noise);
}

}  // namespace assay
