// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/timing.h"

namespace assay {

// What a decision was asked, fixed before its first group.  With it and the raw units anybody can
// compute the decision again; nothing else enters.
struct DecisionDesign {
  std::string winner;
  std::string copy;                     // a byte copy of the winner: must not decide
  std::vector<std::string> references;  // m of them, each at alpha / m
  std::vector<std::string> workloads;   // headline first
  std::string witness;                  // trusted; sets the margin by its own copy
  std::string witness_copy;
  std::string planted;  // the witness's copy with a real delay of `plant`
  double plant = 0.03;
  bool control_found_before = false;  // earlier in this session
  double alpha = 0.01;                // of the claim, per side
  double asked_margin = 0;            // ln
  double between_runs = 0.02;         // standard deviation between runs; 2 % until it is known
  int most_groups = 30;
};

// A claim needs at least this much, however quiet the machine.
inline constexpr double kLeastMargin = 0.00995033085316808;  // ln 1.01
// SAME: both sides exclude a difference of 2 %.
inline constexpr double kSameBand = 0.0198026272961797;  // ln 1.02
// FASTER with more regret than this in the second worst group (or the 80th percentile) is UNSTABLE.
inline constexpr double kRegret = 0.0487901641694320;  // ln 1.05

struct Evidence {
  std::vector<Decision> decisions;  // references in the design's order, headline workload first
  double aa_low = 0, aa_high = 0;   // the trusted arm against itself (else the winner against its copy), ln
  double margin = 0;
  bool control_found = false;
  bool aa_decided = false;  // an arm was told from its own copy: the instrument is biased
  bool settled = false;     // no further group can change a verdict, or all looks are spent
  int next_look = 0;        // groups at which to look again
};

// The verdicts at the last look that the kept groups reach.  Pure: the same units and design give
// the same decision to the last digit, in whatever process.
Evidence DecideFromUnits(std::span<const RawUnit> units, const DecisionDesign& design);

// The strongest reference first: the one that the winner beats by least on the headline workload.
void SortByStrength(std::vector<Decision>& decisions, const std::string& headline);

}  // namespace assay
