// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "record/timing.h"

namespace assay {

// What one arm did in one group on one workload: seconds a call, in the order of its units.
struct ArmFigures {
  std::vector<double> shared;  // units of n calls: (wall - null) / n
  std::vector<double> gated;   // units of one call, where n > 1
  int regime = -1;             // of RawUnit

  // Median over units.  The slower of shared and gated counts, as soon as gated is slower by more
  // than two standard errors: calls that overlap inside a unit show throughput as latency.
  double Seconds() const;
  bool GatedCounts() const;
};

// Units by group, workload and arm; redrawn groups are left out (`redrawn` counts them).
class Figures {
 public:
  enum class Of { kGroups, kCensus };  // full groups, or the short ones of the census
  explicit Figures(std::span<const RawUnit> units, Of which = Of::kGroups);

  std::vector<int> Groups() const;  // kept ones, in order
  int redrawn() const { return redrawn_; }
  const ArmFigures* Find(int group, const std::string& workload, const std::string& arm) const;
  std::vector<std::string> Arms(const std::string& workload) const;

  // ln(slow / fast) in each kept group where both ran, in order of groups.
  std::vector<double> LogRatios(const std::string& workload, const std::string& slow, const std::string& fast) const;
  // Seconds() in each kept group where the arm ran, in order of groups, and their median.
  std::vector<double> GroupSeconds(const std::string& workload, const std::string& arm) const;
  std::optional<double> Seconds(const std::string& workload, const std::string& arm) const;

 private:
  std::map<int, std::map<std::string, std::map<std::string, ArmFigures>>> groups_;
  int redrawn_ = 0;
};

// Median seconds to pack the weights of a call, by arm, over the kept groups; arms that pack nothing are not there.
std::map<std::string, double> PrepareSeconds(std::span<const RawUnit> units, const std::string& workload);

// In situ: which part of an arm's time its kernel's own is, by the medians over the kept units; 1 where nobody ran
// beside it.
double OwnShare(std::span<const RawUnit> units, const std::string& workload, const std::string& arm);

// ln(a / b) of one group.  Units of equal count ran in turns, so they are paired: the median of
// ln ratios, which a drift inside the group cannot move.  Else the ratio of the medians.
double LogRatio(const ArmFigures& a, const ArmFigures& b);

// The same of the shared units alone, which a short group has too.
double SharedLogRatio(const ArmFigures& a, const ArmFigures& b);

// A gated call that takes more than 15 % longer than a shared one, beyond what the trusted arm
// of the same group pays for its first touch, a wake-up of the team and two standard errors.
inline constexpr double kGatedGap = 0.15;
inline constexpr double kTeamWakeSeconds = 60e-6;
bool GatedSlower(const ArmFigures& arm, const ArmFigures* trusted);

}  // namespace assay
