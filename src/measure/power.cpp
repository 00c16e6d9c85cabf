// SPDX-License-Identifier: Apache-2.0
#include "measure/power.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "measure/decide.h"
#include "measure/figures.h"
#include "numerics/statistics.h"

namespace assay {
namespace {

constexpr int kPilotGroups = 6;
constexpr double kWanted = 0.95;  // the power that is stated
// Full groups have about twice as many units of each arm as the pilot's.
constexpr double kFullOverShort = 2;

}  // namespace

Result<std::variant<Power, Rejected>> MeasurePower(KernelTimer::State& state, Course& course, const Artifact& witness,
                                                   size_t references, size_t arms) {
  using Outcome = std::variant<Power, Rejected>;
  const std::vector<Arm> two = {Arm::Of("witness", witness), Arm::Of("copy", witness)};
  const Stopwatch spent;
  std::vector<RawUnit> units;
  for (int group = 0; group < kPilotGroups; ++group) {
    ASSAY_TRY(const GroupResult result, course.runner->Run(state.next_group++, two, OptionsOf(course, Depth::kCensus)));
    if (!result.rejected.empty()) return Outcome(result.rejected.front().second);
    if (!result.disturbed) units.insert(units.end(), result.units.begin(), result.units.end());
  }
  std::vector<double> ratios = Figures(units).LogRatios(course.workload->name, "witness", "copy");
  Power power;
  power.threads = course.threads;
  if (ratios.size() < 3) return Outcome(power);
  // Both arms are the same bytes, so the centre is known.
  for (double& ratio : ratios) ratio = std::fabs(ratio);
  power.sigma = 1.4826 * Median(ratios);
  const SequentialDesign design =
      GroupSequential(state.options.alpha / static_cast<double>(std::max<size_t>(1, references)));
  const double margin = std::max({std::log1p(state.options.asked_margin), kLeastMargin,
                                  2 * 1.2533 * power.sigma / std::sqrt(design.looks.front().groups)});
  power.resolves = std::expm1(ResolvableEffect(design, margin, power.sigma, kWanted));
  const double effect = std::log1p(power.resolves);
  power.groups = ExpectedGroups(design.looks, WinProbability(effect, margin, power.sigma));
  power.seconds = power.groups * kFullOverShort * spent.Seconds() / kPilotGroups * static_cast<double>(arms) / 2;
  return Outcome(power);
}

}  // namespace assay
