// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "measure/figures.h"
#include "record/timing.h"

namespace assay {

// A claim needs at least this much, however quiet the machine.
inline constexpr double kLeastMargin = 0.00995033085316808;  // ln 1.01
// SAME: both sides exclude a difference of 2 %.
inline constexpr double kSameBand = 0.0198026272961797;  // ln 1.02
// Slower than the reference by more than this is regret.  FASTER with regret in the second worst group (or the
// 80th percentile) is UNSTABLE, and so is a winner whose restarts with regret have not shown to be rare.
inline constexpr double kRegret = 0.0487901641694320;  // ln 1.05

struct Evidence {
  std::vector<Decision> decisions;  // references in the design's order, headline workload first
  double aa_low = 0, aa_high = 0;   // the trusted arm against itself (else the winner against its copy), ln
  double margin = 0;
  bool control_found = false;
  bool aa_decided = false;  // an arm was told from its own copy: the instrument is biased
  bool settled = false;     // no further group of either kind can change a verdict
  int next_look = 0;        // groups at which to look again
  // When no further full group is wanted but a winner still has to show that it has no bad restarts: so many
  // short groups until the next look at those.
  int census_due = 0;
  // Kinds of values (DecisionDesign::regimes) that want a short group each, beside the fastest reference.
  std::set<int> regimes_due;
};

// By the full groups: whom short groups hold beside the winner.  "" when none was timed.
std::string FastestReference(const Figures& figures, const DecisionDesign& design, const std::string& workload);

// The verdicts at the last look that the kept groups reach.  Pure: the same units and design give
// the same decision to the last digit, in whatever process.
Evidence DecideFromUnits(std::span<const RawUnit> units, const DecisionDesign& design);

// The arithmetic behind one of its decisions, look by look.
struct LookSeen {
  int groups = 0;
  int needed = 0;              // wins that decide
  double margin = 0;           // ln, as it stood then
  int faster = 0, slower = 0;  // groups beyond it, either way
};
std::vector<LookSeen> LooksAt(std::span<const RawUnit> units, const DecisionDesign& design,
                              const std::string& reference, const std::string& workload);

// The strongest reference first: the one that the winner beats by least on the headline workload.
void SortByStrength(std::vector<Decision>& decisions, const std::string& headline);

}  // namespace assay
