// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "record/verdict.h"

namespace assay {

// One unit as it was measured: the rawest thing that is kept.
struct RawUnit {
  int group = 0;
  std::string arm;
  std::string workload;
  int calls = 1;
  int64_t wall_ns = 0;  // stop-caused end minus start, null unit not yet subtracted
  int64_t null_ns = 0;  // this arm's null unit
  int64_t cpu_ns = 0;
  bool gated = false;    // single gated call
  bool redrawn = false;  // the group was redrawn on independent evidence
  bool census = false;   // a short group that only asks whether the winner has bad restarts
  int regime = -1;       // which of DecisionDesign::regimes the values were, alone; -1 = the contract's mixture
  // In situ, where wall and null are sums over producer, kernel and consumer: the kernel's own share, null units off.
  // 0: all of it is the kernel's.
  int64_t own_ns = 0;
  // What packing the weights of the unit's calls took before them, null unit off; 0: nothing was packed.  Part of no
  // call: weights change less often than what meets them.
  int64_t prepare_ns = 0;

  // The unit's value.  A kernel that is nothing at all costs a nanosecond a unit: logarithms need a positive number.
  double NanosecondsACall() const {
    return std::max<double>(static_cast<double>(wall_ns - null_ns), 1.0) / std::max(calls, 1);
  }
};

// The weakest evidence: one group against the incumbent; it may only drop.
struct Estimate {
  std::string workload;
  double seconds = 0;           // per call, median over units
  std::optional<double> ratio;  // incumbent's (else witness's) time over this one's, same group; none: nobody else ran
  int groups = 0;
  std::optional<double> floor_fraction;  // reference floor / seconds; none: nothing that is calibrated bounds it
  bool dropped = false;                  // below 0.7 of the incumbent
};
// One estimate a workload; the headline workload first.
struct Estimates {
  std::vector<Estimate> workloads;
  std::vector<RawUnit> units;
  double seconds_spent = 0;
};
using EstimateOutcome = std::variant<Estimates, Rejected>;

// Order among verified candidates; no claim.
struct Ranked {
  Digest artifact;
  double log_ratio = 0;  // median over groups of ln(best other / this); larger is faster
  int groups = 0;
  bool stopped_early = false;  // three more losses than wins
};
struct Ranking {
  std::vector<Ranked> order;  // fastest first
  std::vector<RawUnit> units;
  std::vector<std::pair<Digest, Rejected>> rejected;  // audits revoke
  double seconds_spent = 0;
};

// What the clock's own fixed work between the units of a group said of the machine.
struct GroupProbe {
  int group = 0;
  std::string workload;
  double slowed = 0;  // share by which it took longer than usual
};

// A group that counts nowhere, and what is known about it that no candidate can bring about.
struct GroupRedraw {
  int group = 0;
  std::string why;
};

enum class DecisionKind { kFaster, kSlower, kSame, kUndecided, kUnstable };
std::string_view Name(DecisionKind decision);
// Of how two arms compare; the other kinds say that nothing is known.
constexpr bool IsClaim(DecisionKind decision) {
  return decision == DecisionKind::kFaster || decision == DecisionKind::kSlower || decision == DecisionKind::kSame;
}
std::optional<DecisionKind> ParseDecision(std::string_view name);

// How a comparison came out where all values were of one kind.
struct RegimeFigure {
  std::string values;           // as the contract writes them
  std::optional<double> times;  // the winner's advantage in the median; none: not measured, which forbids FASTER
  int restarts = 0;
  int bad_restarts = 0;
};

// The only evidence that makes a claim: `value` times as fast as `against`.
struct Decision {
  std::string against;
  std::string workload;
  DecisionKind kind = DecisionKind::kUndecided;
  std::optional<double> value;                         // none without a decision
  double low = 0, high = 0;                            // order statistics of the groups' medians at 1 - 0.01/m
  double reproduction_low = 0, reproduction_high = 0;  // with the spread between runs
  int groups = 0;
  int redrawn = 0;
  double margin = 0;    // ln; a claim lies beyond it
  double alpha = 0.01;  // per side, of this comparison
  std::vector<double> group_log_ratios;
  int restarts = 0;                   // groups and short groups in which FASTER was asked for regret
  int bad_restarts = 0;               // of them, how many had it
  std::vector<RegimeFigure> regimes;  // in the design's order; empty when not asked for regret
  std::string note;                   // why UNDECIDED or UNSTABLE
};

// What a decision was asked, fixed before its first group.  With it and the raw units anybody can
// compute the decision again; nothing else enters.
struct DecisionDesign {
  std::string winner;
  std::string copy;                     // a byte copy of the winner: must not decide
  std::vector<std::string> references;  // those that were timed to the end
  // m: as many as were to be compared, each at alpha / m.  One that is refused on the way changes no boundary.
  int comparisons = 0;
  std::vector<std::string> workloads;  // headline first
  std::string witness;                 // trusted; sets the margin by its own copy
  std::string witness_copy;
  std::string planted;  // the witness's copy with a real delay of `plant`
  double plant = 0.03;
  bool control_found_before = false;  // earlier in this session
  double alpha = 0.01;                // of the claim, per side
  double asked_margin = 0;            // ln
  double between_runs = 0.02;         // standard deviation between runs; 2 % until it is known
  bool second_run = true;             // the reproduction interval allows for the second measurement's own spread
  int most_groups = 30;
  // FASTER is only said of a winner that has shown its restarts with regret to be rarer than this; 0 = not asked.
  double bad_share = 0.10;
  // Kinds of values that short groups hold alone, in turn; empty: the contract has one kind.
  std::vector<std::string> regimes;
};

// The least time that physics allows, by what was measured here.
struct Floor {
  std::string workload;
  std::string bound_by;  // "f32 peak", "i8 peak", "L2 bandwidth", "memory bandwidth"
  double seconds = 0;
  double peak_in_run = 0;  // operations a second or bytes a second, whichever binds
  double operations = 0, bytes = 0;
  bool calibrated = false;  // by what `assay calibrate` kept of this machine; else by probes of this run

  bool OfBytes() const { return bound_by.ends_with("bandwidth"); }
};

// Multiply-adds of one element type in vector registers, operations a second.
struct ElementPeak {
  std::string element;  // "f64", "bf16", "i8"; f32 has fields of its own
  double one_thread = 0, all_threads = 0;
};

// The most bytes a second that anything gets out of a cache or into it, as `assay calibrate` kept it.
struct CacheRate {
  int level = 0;
  int64_t bytes = 0;  // of one instance
  int sharers = 1;    // processors behind it
  double one_thread = 0, all_threads = 0;
};

struct MachineRates {
  double f32_peak_1t = 0, f32_peak = 0;    // operations a second, one thread and all threads of the policy
  double copy_bytes = 0, triad_bytes = 0;  // bytes a second with the policy's threads, non-temporal stores
  double read_bytes = 0;                   // the same threads, reading alone
  double clock_hz = 0;                     // from a dependent multiply chain
  int lanes = 0, pipes = 0;
  int threads = 0;                 // that "all" means; 0: not known
  std::vector<ElementPeak> peaks;  // of the contract's unit, where that is not f32
  std::vector<CacheRate> caches;   // second level and beyond, nearest first; empty: never calibrated
  std::string refused;             // why the figures are not to be believed, or ""
};

// What a run could resolve before it began.
struct Power {
  double sigma = 0;     // ln, between restarts of one artifact against itself; 0 = nothing is known
  double resolves = 0;  // the smallest difference found with 95 %: 0.014 = 1.4 %; infinite = none
  double groups = 0;    // expected until then
  double seconds = 0;   // that they take
  int threads = 0;
};

struct DecisionReport {
  DecisionDesign design;
  Power power;
  std::vector<Decision> decisions;
  std::vector<Floor> floors;
  MachineRates rates;
  std::map<std::string, double> seconds;  // arm -> median seconds a call on the headline workload
  std::map<std::string, std::map<std::string, double>> workload_seconds;  // workload -> arm -> seconds
  std::map<std::string, double> prepare_seconds;  // arm -> median seconds to pack the weights of a call, headline
  std::map<std::string, double> own_seconds;      // in situ: arm -> the part of `seconds` that is its own kernel's
  std::string winner;                             // its arm
  double winner_low = 0, winner_high = 0;  // interval of its seconds on the headline workload; 0 = too few groups
  double aa_low = 0, aa_high = 0;          // the witness against itself, ln
  bool control_found = false;              // the planted 3 % was found
  std::vector<RawUnit> units;
  std::vector<GroupProbe> probes;  // of the groups that were probed
  std::vector<GroupRedraw> redraws;
  double seconds_spent = 0;
};
using DecideOutcome = std::variant<DecisionReport, Rejected>;

// One of the comparisons that were asked for again and again.
struct Comparison {
  std::vector<Decision> decisions;  // against the one reference, by workload, headline first; never empty
  double seconds = 0;

  // Which of them is the comparison's: one that is SLOWER, else one that is no claim, else the headline's.
  const Decision& Telling() const;
};

}  // namespace assay
