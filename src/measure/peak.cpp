// SPDX-License-Identifier: Apache-2.0
#include "measure/peak.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "measure/pages.h"
#include "measure/peak_kernels.h"
#include "measure/stream_kernels.h"
#include "measure/together.h"
#include "numerics/statistics.h"

namespace assay {
namespace {

// Sized for about 0.4 ms at 4 GHz: long against the clock's resolution, short against a time slice.
constexpr int64_t kChainIterations = 33'000;
constexpr int64_t kFmaIterations = 100'000;

constexpr int kElementTries = 20, kProbeTries = 2;

constexpr double kShareOfPromise = 0.95;
constexpr double kOverWhole = 0.05;

double Best(const std::vector<double>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

double MedianOr(const std::vector<double>& values, double otherwise) {
  return values.empty() ? otherwise : Median(values);
}

// The chain and every width in turns.
std::pair<double, std::vector<FmaSample>> SampleWith(int threads, int tries) {
  std::vector<std::function<void(int)>> works = {[](int) { MultiplyChain(kChainIterations); }};
  for (const FmaKernel& kernel : FmaKernels()) {
    works.push_back([&kernel](int) { kernel.run(kFmaIterations); });
  }
  const auto seconds = TriesTogether(threads, tries, works);
  const double cycles = double{kMultiplyLatency} * kMultipliesPerIteration * static_cast<double>(kChainIterations);
  std::vector<FmaSample> samples;
  for (size_t i = 0; i < FmaKernels().size(); ++i) {
    const FmaKernel& kernel = FmaKernels()[i];
    const double operations = kernel.OperationsPerIteration() * static_cast<double>(kFmaIterations) * threads;
    samples.push_back({kernel.lanes, operations / Best(seconds[i + 1])});
  }
  return {cycles / Best(seconds[0]), samples};
}

}  // namespace

std::optional<int> WholePipes(const FmaSample& sample, double clock_hz, int threads) {
  const double measured = sample.per_second / (2.0 * sample.lanes * clock_hz * threads);
  if (!(measured > 0) || !std::isfinite(measured)) return std::nullopt;
  const double whole = std::max(1.0, std::ceil(measured - kOverWhole));
  if (!(measured >= kShareOfPromise * whole)) return std::nullopt;
  return static_cast<int>(whole);
}

MachineRates JudgePeak(const PeakSample& sample, int threads) {
  MachineRates rates;
  rates.clock_hz = sample.clock_hz;
  size_t chosen = 0;
  int most = 0;
  for (size_t i = 0; i < sample.one_thread.size(); ++i) {
    const FmaSample& width = sample.one_thread[i];
    rates.f32_peak_1t = std::max(rates.f32_peak_1t, width.per_second);
    rates.f32_peak = std::max(rates.f32_peak, sample.all_threads[i].per_second);
    const std::optional<int> pipes = WholePipes(width, sample.clock_hz, 1);
    if (pipes && width.lanes * *pipes > most) {
      most = width.lanes * *pipes;
      chosen = i;
      rates.lanes = width.lanes;
      rates.pipes = *pipes;
    }
  }
  const double promised = 2.0 * most * sample.clock_hz;
  if (most == 0 || !(rates.f32_peak_1t >= kShareOfPromise * promised)) {
    rates.refused = fmt::format(
        "peak: {:.1f} GFLOP/s with one thread is no whole number of pipes at {:.2f} GHz; is the machine shared?",
        rates.f32_peak_1t / 1e9, sample.clock_hz / 1e9);
    return rates;
  }
  // A width that is not the chosen one may be slowed by the machine and none the wiser; the
  // chosen one must also hold on all threads at once, at the clock they then have.
  const double promised_all = 2.0 * most * sample.clock_all_hz * threads;
  if (!(sample.all_threads[chosen].per_second >= kShareOfPromise * promised_all)) {
    rates.refused = fmt::format(
        "peak: {:.1f} GFLOP/s with {} threads is below 0.95 of 2 x {} lanes x {} pipes x {:.2f} GHz x {} = {:.1f}; "
        "is the machine shared?",
        sample.all_threads[chosen].per_second / 1e9, threads, rates.lanes, rates.pipes, sample.clock_all_hz / 1e9,
        threads, promised_all / 1e9);
  }
  return rates;
}

PeakSample SamplePeak(int threads, int tries) {
  PeakSample sample;
  std::tie(sample.clock_hz, sample.one_thread) = SampleWith(1, tries);
  if (threads == 1) {
    sample.clock_all_hz = sample.clock_hz;
    sample.all_threads = sample.one_thread;
    return sample;
  }
  std::tie(sample.clock_all_hz, sample.all_threads) = SampleWith(threads, tries);
  return sample;
}

namespace {

constexpr size_t kBytes = size_t{256} << 20;

// Kept, because a decision asks every few groups and the kernel would have to clear it each time. One at a time: who
// measures a rate has the machine for himself.
Result<float*> ProbeMemory() {
  static std::unique_ptr<Pages> kept;
  if (kept == nullptr) {
    auto memory = std::make_unique<Pages>(kBytes);
    if (memory->values() == nullptr) return SystemError("256 MiB for the bandwidth probe", errno);
    // Reading untouched memory would read one page of zeros.
    std::fill_n(memory->values(), kBytes / sizeof(float), 1.0F);
    kept = std::move(memory);
  }
  return kept->values();
}

}  // namespace

Result<Bandwidth> SampleBandwidth(int threads, int tries) {
  ASSAY_TRY(float* const values, ProbeMemory());
  constexpr size_t kValues = kBytes / sizeof(float);
  const auto count = static_cast<size_t>(threads);
  const size_t half = kValues / 2 / (16 * count) * 16;  // of one thread's share of one array
  const size_t third = kValues / 3 / (16 * count) * 16;
  const std::function<void(int)> works[] = {
      [&](int number) {
        const size_t from = half * static_cast<size_t>(number);
        StreamCopy(values + half * count + from, values + from, half);
      },
      [&](int number) {
        const size_t from = third * static_cast<size_t>(number);
        StreamTriad(values + 2 * third * count + from, values + from, values + third * count + from, 0.5F, third);
      },
      [&](int number) {
        const size_t share = half / kStreamStep * kStreamStep;
        const float* const from = values + half * static_cast<size_t>(number);
        StreamKernels().front().run(values, from, from, share, 1);
      },
  };
  ASSAY_CHECK(StreamKernels().front().access == "read");
  const auto seconds = TriesTogether(threads, tries, works);
  Bandwidth bandwidth;
  bandwidth.copy_bytes = 2.0 * sizeof(float) * static_cast<double>(half * count) / Best(seconds[0]);
  bandwidth.triad_bytes = 3.0 * sizeof(float) * static_cast<double>(third * count) / Best(seconds[1]);
  bandwidth.read_bytes =
      sizeof(float) * static_cast<double>(half / kStreamStep * kStreamStep * count) / Best(seconds[2]);
  return bandwidth;
}

ElementPeak SampleElement(const std::string& element, int threads, int tries) {
  ElementPeak peak;
  peak.element = element;
  std::vector<std::function<void(int)>> works;
  std::vector<double> operations;  // of a thread
  for (const FmaKernel& kernel : PeakKernels()) {
    if (kernel.element != element) continue;
    works.push_back([&kernel](int) { kernel.run(kFmaIterations); });
    operations.push_back(kernel.OperationsPerIteration() * static_cast<double>(kFmaIterations));
  }
  if (works.empty()) return peak;
  const auto sample = [&](int count) {
    const auto seconds = TriesTogether(count, tries, works);
    double most = 0;
    for (size_t i = 0; i < works.size(); ++i) most = std::max(most, operations[i] * count / Best(seconds[i]));
    return most;
  };
  peak.one_thread = sample(1);
  peak.all_threads = threads == 1 ? peak.one_thread : sample(threads);
  return peak;
}

Result<MachineRates> MeasureRates(int threads, const std::string& element) {
  // A neighbour can spoil one sample whole; three in a row are the machine's state, and refused.
  MachineRates rates;
  for (int attempt = 0; attempt < 3; ++attempt) {
    rates = JudgePeak(SamplePeak(threads, 40), threads);
    if (rates.refused.empty()) break;
  }
  ASSAY_TRY(const Bandwidth bandwidth, SampleBandwidth(threads, 6));
  rates.copy_bytes = bandwidth.copy_bytes;
  rates.triad_bytes = bandwidth.triad_bytes;
  rates.read_bytes = bandwidth.read_bytes;
  rates.threads = threads;
  if (element != "f32") rates.peaks.push_back(SampleElement(element, threads, kElementTries));
  return rates;
}

RunRates::RunRates(MachineRates first, int threads) : first_(std::move(first)), best_(first_), threads_(threads) {
  Add(first_);
}

RunRates RunRates::Anew() const {
  RunRates next = *this;
  for (auto* values : {&next.peaks_1t_, &next.peaks_, &next.clocks_, &next.copies_, &next.triads_, &next.reads_,
                       &next.elements_1t_, &next.elements_, &next.shares_})
    values->clear();
  return next;
}

void RunRates::Raise(const RunRates& other) { RaiseTo(other.best_); }

void RunRates::RaiseTo(const MachineRates& rates) {
  const auto raise = [](double& best, double seen) { best = std::max(best, seen); };
  raise(best_.f32_peak_1t, rates.f32_peak_1t);
  raise(best_.f32_peak, rates.f32_peak);
  raise(best_.copy_bytes, rates.copy_bytes);
  raise(best_.triad_bytes, rates.triad_bytes);
  raise(best_.read_bytes, rates.read_bytes);
  raise(best_.clock_hz, rates.clock_hz);
  for (const ElementPeak& peak : rates.peaks) {
    for (ElementPeak& best : best_.peaks) {
      if (best.element != peak.element) continue;
      raise(best.one_thread, peak.one_thread);
      raise(best.all_threads, peak.all_threads);
    }
  }
}

void RunRates::Add(const MachineRates& rates) {
  RaiseTo(rates);
  const auto keep = [](std::vector<double>& values, double value) {
    if (value > 0) values.push_back(value);
  };
  keep(peaks_1t_, rates.f32_peak_1t);
  keep(peaks_, rates.f32_peak);
  keep(clocks_, rates.clock_hz);
  keep(copies_, rates.copy_bytes);
  keep(triads_, rates.triad_bytes);
  keep(reads_, rates.read_bytes);
  for (const ElementPeak& peak : rates.peaks) {
    keep(elements_1t_, peak.one_thread);
    keep(elements_, peak.all_threads);
  }
}

void RunRates::TakeCalibrated(const Calibration& calibration) {
  MachineRates kept;
  kept.peaks = first_.peaks;
  for (const PeakFigure& peak : calibration.peaks) {
    const double most = peak.per_second.best;
    const bool one = peak.threads == 1, all = peak.threads == threads_;
    if (peak.element == "f32" && one) kept.f32_peak_1t = most;
    if (peak.element == "f32" && all) kept.f32_peak = most;
    for (ElementPeak& same : kept.peaks) {
      if (same.element == peak.element && one) same.one_thread = most;
      if (same.element == peak.element && all) same.all_threads = most;
    }
  }
  const auto most_of = [&](const std::string& level, int threads) {
    double most = 0;
    for (const StreamFigure& stream : calibration.streams) {
      if (stream.level == level && stream.threads == threads) most = std::max(most, stream.bytes_per_second.best);
    }
    return most;
  };
  // Whatever the access was: a rate of memory, to be kept beside the others as the best ever seen.
  kept.read_bytes = most_of("DRAM", threads_);
  RaiseTo(kept);
  first_.caches.clear();
  for (const CacheLevel& cache : calibration.caches) {
    const std::string name = fmt::format("L{}", cache.level);
    const CacheRate rate{cache.level, cache.bytes, cache.sharers, most_of(name, 1), most_of(name, threads_)};
    // What a unit finds was copied into place by somebody else: nothing of it lies in a first level.
    if (cache.level >= 2 && (rate.one_thread > 0 || rate.all_threads > 0)) first_.caches.push_back(rate);
  }
}

double RunRates::ProbePeak() {
  double share = 1;
  // Two threads that must share a core with a third program say nothing about the machine: such a
  // probe is tried again and at last left out, or a floor would rise above the times it bounds.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const PeakSample sample = SamplePeak(threads_, kProbeTries);
    MachineRates rates = JudgePeak(sample, threads_);
    for (const ElementPeak& peak : first_.peaks)
      rates.peaks.push_back(SampleElement(peak.element, threads_, kProbeTries));
    const double promised = 2.0 * first_.lanes * first_.pipes * sample.clock_all_hz * threads_;
    share = promised > 0 ? rates.f32_peak / promised : 1.0;
    // With a stranger on each core for the whole probe, two pipes look like one whole one.
    const bool whole = rates.lanes * rates.pipes >= first_.lanes * first_.pipes;
    if (!rates.refused.empty() || !whole) continue;
    Add(rates);
    break;
  }
  shares_.push_back(share);
  return share / assay::Median(shares_);
}

Status RunRates::ProbeBandwidth() {
  ASSAY_TRY(const Bandwidth bandwidth, SampleBandwidth(threads_, 2));
  MachineRates rates;
  rates.copy_bytes = bandwidth.copy_bytes;
  rates.triad_bytes = bandwidth.triad_bytes;
  rates.read_bytes = bandwidth.read_bytes;
  Add(rates);
  return Ok();
}

MachineRates RunRates::Median() const {
  MachineRates rates = first_;
  rates.f32_peak_1t = MedianOr(peaks_1t_, first_.f32_peak_1t);
  rates.f32_peak = MedianOr(peaks_, first_.f32_peak);
  rates.clock_hz = MedianOr(clocks_, first_.clock_hz);
  rates.copy_bytes = MedianOr(copies_, first_.copy_bytes);
  rates.triad_bytes = MedianOr(triads_, first_.triad_bytes);
  rates.read_bytes = MedianOr(reads_, first_.read_bytes);
  for (ElementPeak& peak : rates.peaks) {
    peak.one_thread = MedianOr(elements_1t_, peak.one_thread);
    peak.all_threads = MedianOr(elements_, peak.all_threads);
  }
  return rates;
}

}  // namespace assay
