// SPDX-License-Identifier: Apache-2.0
#include "measure/probe.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "base/check.h"
#include "measure/environment.h"
#include "measure/peak_kernels.h"
#include "measure/together.h"
#include "numerics/statistics.h"

namespace assay {
namespace {

// Some 15 us each at 3 to 4 GHz: far beyond the clock's resolution, and short against a time slice, so that one of
// three tries is whole unless somebody is there all the time.
constexpr int64_t kChainIterations = 1'000, kAddIterations = 6'000;
constexpr int kTries = 3;

// Takes `value` in and gives the lower quartile of the last ones.
double Usual(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > ProbeLog::kGroups) values.pop_front();
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 4];
}

template <typename Work>
double BestOf(const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

ProbeTimes ProbeHere() {
  // Its code may not be in the caches any more.
  MultiplyChain(10);
  // The narrowest registers that do it: the widest lower the clock of some processors by themselves.
  const FmaKernel& kernel = FmaKernels().back();
  kernel.run(10);
  ProbeTimes times;
  times.chain = BestOf([] { MultiplyChain(kChainIterations); });
  times.adds = BestOf([&] { kernel.run(kAddIterations); });
  return times;
}

}  // namespace

std::vector<ProbeTimes> ProbeProcessors(const std::vector<int>& processors) {
  std::vector<ProbeTimes> all;
  std::thread prober([&] {
    for (const int processor : processors) {
      const PinScope place({processor});
      const OwnTime own(processor);
      all.push_back(ProbeHere());
    }
  });
  prober.join();
  return all;
}

void ProbeLog::Add(const std::vector<int>& processors, const std::vector<ProbeTimes>& times) {
  ASSAY_CHECK(processors.size() == times.size());
  for (size_t i = 0; i < processors.size(); ++i) {
    std::vector<Kind>& kinds = processors_[processors[i]];
    kinds.resize(2);
    // What is no time says nothing.
    if (times[i].chain > 0) kinds[0].now.push_back(times[i].chain);
    if (times[i].adds > 0) kinds[1].now.push_back(times[i].adds);
  }
}

std::optional<double> ProbeLog::EndGroup() {
  double slower = 1;
  bool any = false;
  for (auto& [processor, kinds] : processors_) {
    for (Kind& kind : kinds) {
      const std::vector<double> now = std::exchange(kind.now, {});
      if (now.size() < kLeast) continue;
      any = true;
      const double median = Median(now);
      slower = std::max(slower, median / Usual(kind.by_group, median));
    }
  }
  if (!any) return std::nullopt;
  return std::max(0.0, slower / Usual(slower_, slower) - 1);
}

}  // namespace assay
