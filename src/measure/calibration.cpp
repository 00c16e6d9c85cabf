// SPDX-License-Identifier: Apache-2.0
#include "measure/calibration.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file.h"
#include "measure/calibration_judge.h"
#include "measure/calibration_tries.h"
#include "measure/environment.h"
#include "measure/peak_kernels.h"
#include "measure/together.h"

namespace assay {
namespace {

constexpr int kTriesOfAPart = 3;

// Less than a thousandth of a second: a neighbour's time slice is longer, so that some of the tries
// are undisturbed.
constexpr int64_t kFmaIterations = 150'000;
constexpr int kPeakTries = 40;
// Some processors lower their clock for wide registers, while they are in use and a little longer: the
// chain runs for a small part of that time, right behind enough of the kernel to bring it down.
constexpr int64_t kBeforeChain = 60'000;
constexpr int64_t kChainIterations = 1'000;
constexpr int64_t kLoneChainIterations = 10'000;

struct Part {
  const char* name;
  std::function<Status()> measure;
  std::function<std::optional<std::string>()> refuse;
};

double CyclesOf(int64_t iterations) {
  return double{kMultiplyLatency} * kMultipliesPerIteration * static_cast<double>(iterations);
}

// The highest clock of any thread right behind this kernel.
class ClockBehind {
 public:
  ClockBehind(const FmaKernel& kernel, int threads) : kernel_(kernel), least_(static_cast<size_t>(threads), 1.0) {}
  void Try(int thread) {
    kernel_.run(kBeforeChain);
    MultiplyChain(50);  // it may not be in the caches any more
    const auto start = std::chrono::steady_clock::now();
    MultiplyChain(kChainIterations);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    double& least = least_[static_cast<size_t>(thread)];
    least = std::min(least, seconds.count());
  }
  double hz() const { return CyclesOf(kChainIterations) / *std::min_element(least_.begin(), least_.end()); }

 private:
  const FmaKernel& kernel_;
  std::vector<double> least_;  // seconds of the chain, by thread
};

// Measures until nobody disturbed it and the figures are possible; else why not.
Result<std::optional<std::string>> RunPart(const Part& part, const CalibrationOptions& options) {
  const std::vector<int>& processors = AllowedProcessors();
  std::optional<std::string> why;
  for (int attempt = 0; attempt < kTriesOfAPart; ++attempt) {
    if (options.progress) options.progress(attempt == 0 ? part.name : fmt::format("{} again: {}", part.name, *why));
    ASSAY_TRY(const CpuSnapshot before, TakeCpuSnapshot(processors));
    ASSAY_TRY_STATUS(part.measure());
    ASSAY_TRY(const CpuSnapshot after, TakeCpuSnapshot(processors));
    const Disturbance seen = Between(before, after, false);
    why = Disturbed(seen, static_cast<int>(processors.size()))
              ? fmt::format("the machine is shared: {}", seen.Describe())
              : part.refuse();
    if (!why) break;
  }
  return why;
}

}  // namespace

Status CalibratePeaks(Calibration& calibration) {
  calibration.peaks.clear();
  const std::function<void(int)> chain[] = {[](int) { MultiplyChain(kLoneChainIterations); }};
  calibration.clock_hz = RateOf(CyclesOf(kLoneChainIterations), TriesTogether(1, kPeakTries, chain)[0]).best;
  for (const int threads : ThreadCounts(calibration)) {
    std::vector<std::function<void(int)>> works;
    std::vector<ClockBehind> clocks;
    clocks.reserve(PeakKernels().size());  // the works point into it
    for (const FmaKernel& kernel : PeakKernels()) {
      ClockBehind& clock = clocks.emplace_back(kernel, threads);
      // The clock first: then the wide registers are awake when the kernel begins, which takes them a while.
      works.push_back([&clock](int thread) { clock.Try(thread); });
      works.push_back([&kernel](int) { kernel.run(kFmaIterations); });
    }
    const auto seconds = TriesTogether(threads, kPeakTries, works);
    for (size_t i = 0; i < PeakKernels().size(); ++i) {
      const FmaKernel& kernel = PeakKernels()[i];
      const double operations = kernel.OperationsPerIteration() * static_cast<double>(kFmaIterations) * threads;
      PeakFigure peak{std::string(kernel.element), std::string(kernel.name), kernel.lanes, threads, {}, 0};
      peak.per_second = RateOf(operations, seconds[2 * i + 1]);
      peak.clock_hz = clocks[i].hz();
      const auto same = std::find_if(calibration.peaks.begin(), calibration.peaks.end(), [&](const PeakFigure& p) {
        return p.element == peak.element && p.threads == peak.threads;
      });
      if (same == calibration.peaks.end()) {
        calibration.peaks.push_back(std::move(peak));
      } else if (peak.per_second.best > same->per_second.best) {
        *same = std::move(peak);
      }
    }
  }
  return Ok();
}

int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Calibration CalibrationHead(int threads) {
  const Machine machine = ThisMachine();
  Calibration calibration;
  calibration.machine = machine.id;
  calibration.processor = machine.processor;
  calibration.kernel = machine.kernel;
  calibration.cores = machine.cores;
  calibration.threads = threads;
  calibration.caches = CacheLevels();
  calibration.when = SecondsNow();
  const bool tiles = std::any_of(machine.features.begin(), machine.features.end(),
                                 [](const std::string& feature) { return feature.starts_with("amx"); });
  if (tiles) calibration.notes.push_back("bf16 and i8 are of the vector registers; the tile registers were not tried");
  return calibration;
}

Result<CalibrationOutcome> Calibrate(const CalibrationOptions& options) {
  ASSAY_CHECK(options.threads >= 1 && options.threads <= static_cast<int>(AllowedProcessors().size()));
  const auto start = std::chrono::steady_clock::now();
  Calibration calibration = CalibrationHead(options.threads);
  int backwards = 0;
  const Part parts[] = {
      {"peaks", [&] { return CalibratePeaks(calibration); },
       [&] { return RefusePeaks(calibration.peaks, options.threads, calibration.clock_hz); }},
      {"bandwidth", [&] { return CalibrateStreams(calibration); },
       [&] { return RefuseStreams(calibration.streams, options.threads, calibration.clock_hz); }},
      {"latency", [&] { return CalibrateLatencies(calibration); },
       [&] { return RefuseLatencies(calibration.latencies, calibration.clock_hz); }},
      {"overheads", [&] { return CalibrateOverheads(calibration, backwards); },
       [&] { return RefuseOverheads(calibration.overheads, backwards); }},
      {"units", [&] { return CalibrateUnits(calibration); },
       [&] {
         const auto why = RefuseOverheads(calibration.overheads, backwards);
         return why ? why : RefuseNoise(calibration.noise);
       }},
  };
  for (const Part& part : parts) {
    ASSAY_TRY(const std::optional<std::string> why, RunPart(part, options));
    if (why) return CalibrationOutcome(CalibrationRefused{*why});
  }
  std::sort(calibration.notes.begin(), calibration.notes.end());
  calibration.notes.erase(std::unique(calibration.notes.begin(), calibration.notes.end()), calibration.notes.end());
  calibration.when = SecondsNow();
  calibration.seconds_spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return CalibrationOutcome(std::move(calibration));
}

std::filesystem::path CalibrationFile(const std::filesystem::path& folder, const Calibration& like) {
  // The whole identity stands in the file; its name needs only to keep machines apart.
  return folder / fmt::format("calibration-{}-{}.json", like.machine.substr(0, 16), like.threads);
}

std::optional<Calibration> ReadCalibration(const std::filesystem::path& file, const Calibration& like, int64_t now,
                                           double most_seconds) {
  constexpr size_t kLimit = size_t{1} << 20;
  const Result<std::string> text = ReadFile(file, kLimit);
  if (!text.ok()) return std::nullopt;
  Result<Calibration> read = ParseCalibration(text.value());
  if (!read.ok()) return std::nullopt;
  const Calibration& found = read.value();
  // Not the figures alone say that a machine is the same: a host may move a guest to another one.
  const bool ours = found.machine == like.machine && found.threads == like.threads && found.caches == like.caches;
  const int64_t age = now - found.when;
  if (!ours || !(age >= 0 && static_cast<double>(age) <= most_seconds) || RefuseAll(found)) return std::nullopt;
  return std::move(read).value();
}

std::optional<Calibration> KeptCalibration(const std::filesystem::path& folder, int threads) {
  constexpr double kDay = 24 * 3600;
  for (const int count : {threads, static_cast<int>(AllowedProcessors().size())}) {
    const Calibration head = CalibrationHead(count);
    if (auto kept = ReadCalibration(CalibrationFile(folder, head), head, head.when, kDay)) return kept;
  }
  return std::nullopt;
}

Status WriteCalibration(const std::filesystem::path& file, const Calibration& calibration) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) return Error{ErrorCode::kIo, fmt::format("{}: {}", file.parent_path().string(), error.message())};
  return WriteFileAtomically(file, CalibrationJson(calibration));
}

}  // namespace assay
