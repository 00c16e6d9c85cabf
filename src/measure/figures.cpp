// SPDX-License-Identifier: Apache-2.0
#include "measure/figures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "numerics/statistics.h"

namespace assay {
namespace {

double PairedMedian(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(std::log(a[i] / b[i]));
  return Median(ratios);
}

}  // namespace

bool ArmFigures::GatedCounts() const {
  if (gated.empty() || shared.empty()) return shared.empty();
  return Median(gated) - 2 * MedianStandardError(gated) > Median(shared);
}

double ArmFigures::Seconds() const { return Median(GatedCounts() ? gated : shared); }

double LogRatio(const ArmFigures& a, const ArmFigures& b) {
  const bool gated = a.GatedCounts();
  if (gated == b.GatedCounts()) {
    const std::vector<double>& of_a = gated ? a.gated : a.shared;
    const std::vector<double>& of_b = gated ? b.gated : b.shared;
    if (of_a.size() == of_b.size()) return PairedMedian(of_a, of_b);
  }
  return std::log(a.Seconds() / b.Seconds());
}

double SharedLogRatio(const ArmFigures& a, const ArmFigures& b) {
  if (a.shared.size() == b.shared.size()) return PairedMedian(a.shared, b.shared);
  return std::log(Median(a.shared) / Median(b.shared));
}

bool GatedSlower(const ArmFigures& arm, const ArmFigures* trusted) {
  if (arm.gated.empty() || arm.shared.empty()) return false;
  double allowance = kTeamWakeSeconds + 2 * MedianStandardError(arm.gated);
  if (trusted != nullptr && !trusted->gated.empty() && !trusted->shared.empty()) {
    allowance += std::max(0.0, Median(trusted->gated) - Median(trusted->shared));
  }
  const double shared = Median(arm.shared);
  return Median(arm.gated) > shared * (1 + kGatedGap) + allowance;
}

std::map<std::string, double> PrepareSeconds(std::span<const RawUnit> units, const std::string& workload) {
  std::map<std::string, std::vector<double>> all;
  for (const RawUnit& unit : units) {
    if (unit.redrawn || unit.prepare_ns == 0 || unit.workload != workload) continue;
    all[unit.arm].push_back(1e-9 * static_cast<double>(unit.prepare_ns) / std::max(unit.calls, 1));
  }
  std::map<std::string, double> medians;
  for (auto& [arm, seconds] : all) medians[arm] = Median(seconds);
  return medians;
}

double OwnShare(std::span<const RawUnit> units, const std::string& workload, const std::string& arm) {
  std::vector<double> own, all;
  for (const RawUnit& unit : units) {
    if (unit.own_ns == 0 || unit.redrawn || unit.workload != workload || unit.arm != arm) continue;
    own.push_back(static_cast<double>(unit.own_ns));
    all.push_back(unit.NanosecondsACall() * unit.calls);
  }
  if (own.empty()) return 1;
  // Of what is little more than null units a part may seem less than nothing.
  return std::clamp(Median(own) / Median(all), 0.0, 1.0);
}

Figures::Figures(std::span<const RawUnit> units, Of which) {
  std::set<int> redrawn;
  for (const RawUnit& unit : units) {
    if (unit.census != (which == Of::kCensus)) continue;
    if (unit.redrawn) {
      redrawn.insert(unit.group);
      continue;
    }
    ArmFigures& figures = groups_[unit.group][unit.workload][unit.arm];
    (unit.gated ? figures.gated : figures.shared).push_back(unit.NanosecondsACall() * 1e-9);
    figures.regime = unit.regime;
  }
  redrawn_ = static_cast<int>(redrawn.size());
}

std::vector<int> Figures::Groups() const {
  std::vector<int> groups;
  for (const auto& [group, workloads] : groups_) groups.push_back(group);
  return groups;
}

const ArmFigures* Figures::Find(int group, const std::string& workload, const std::string& arm) const {
  const auto of_group = groups_.find(group);
  if (of_group == groups_.end()) return nullptr;
  const auto of_workload = of_group->second.find(workload);
  if (of_workload == of_group->second.end()) return nullptr;
  const auto of_arm = of_workload->second.find(arm);
  return of_arm == of_workload->second.end() ? nullptr : &of_arm->second;
}

std::vector<std::string> Figures::Arms(const std::string& workload) const {
  std::set<std::string> arms;
  for (const auto& [group, workloads] : groups_) {
    const auto found = workloads.find(workload);
    if (found == workloads.end()) continue;
    for (const auto& [arm, figures] : found->second) arms.insert(arm);
  }
  return {arms.begin(), arms.end()};
}

std::vector<double> Figures::LogRatios(const std::string& workload, const std::string& slow,
                                       const std::string& fast) const {
  std::vector<double> ratios;
  for (const auto& [group, workloads] : groups_) {
    const ArmFigures* a = Find(group, workload, slow);
    const ArmFigures* b = Find(group, workload, fast);
    if (a != nullptr && b != nullptr) ratios.push_back(LogRatio(*a, *b));
  }
  return ratios;
}

std::vector<double> Figures::GroupSeconds(const std::string& workload, const std::string& arm) const {
  std::vector<double> seconds;
  for (const auto& [group, workloads] : groups_) {
    if (const ArmFigures* figures = Find(group, workload, arm)) seconds.push_back(figures->Seconds());
  }
  return seconds;
}

std::optional<double> Figures::Seconds(const std::string& workload, const std::string& arm) const {
  const std::vector<double> seconds = GroupSeconds(workload, arm);
  if (seconds.empty()) return std::nullopt;
  return Median(seconds);
}

}  // namespace assay
