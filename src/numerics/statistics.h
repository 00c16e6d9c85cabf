// SPDX-License-Identifier: Apache-2.0
#pragma once

// Paired statistics of restart groups.  A group gives one number, the median log ratio of two arms;
// groups are independent draws, and nothing else about their distribution is assumed: every test here
// counts signs.  Derivations are in docs/numerics.md.

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

// Middle value; the mean of the two middle ones where the count is even; NaN of nothing.
double Median(std::span<const double> values);

// Standard error of a median, from the median absolute deviation: one wild group does not move it.
// Zero of fewer than two values.
double MedianStandardError(std::span<const double> values);

struct OrderInterval {
  double low = 0.0;
  double high = 0.0;
};

// Between two order statistics; holds the true median with at least 1 - alpha whatever the
// distribution.  Infinite where there are too few values for that (seven at alpha = 0.01).
OrderInterval MedianInterval(std::span<const double> values, double alpha);

// P(at most k of n fair coins show heads).
double BinomialTail(int n, int k);

struct SequentialLook {
  int groups;  // looked at after so many
  int wins;    // and decided by at least so many

  bool operator==(const SequentialLook&) const = default;
};

// Group-sequential exact binomial test of one side: "the median ratio exceeds the margin".
struct SequentialDesign {
  double alpha = 0.01;        // asked for
  double false_claims = 0.0;  // exact, at a win probability of one half
  std::vector<SequentialLook> looks;
};

// Looks and boundaries for an alpha per side, found by exact enumeration.  At 0.01: 8 of 8, 13 of 14,
// 17 of 20, 23 of 30.  Empty where alpha is not in (0, 1).
SequentialDesign GroupSequential(double alpha, int looks = 4);

// Sequential test of "fewer than `share` of the groups are lost": the k-th look allows k - 1 losses among so many
// groups.  Where exactly `share` are lost, one of `looks` looks is passed with probability alpha at most.  At 0.1
// and 0.01: no loss in 51, one in 78, two in 96.  Empty where share or alpha is not in (0, 1).
SequentialDesign RareLosses(double share, double alpha, int looks = 5);

// Probability of crossing a boundary, and groups used, when each group is won with probability p.
double CrossingProbability(std::span<const SequentialLook> looks, double p);
double ExpectedGroups(std::span<const SequentialLook> looks, double p);

// Probability that one group is won if the true effect is `effect` and groups scatter normally by
// `sigma` around it, beyond a margin: what "power" is stated from.
double WinProbability(double effect, double margin, double sigma);

// Smallest effect that the design finds with the given power.
double ResolvableEffect(const SequentialDesign& design, double margin, double sigma, double power);

// Three more losses than wins: no further group is spent on this candidate.
bool Futile(int wins, int losses);

enum class RuleOutcome { kOpen, kFaster, kSlower, kUndecided };

// The sequential decision, fed by hand one group at a time.  A first crossing is final; what is
// added afterwards changes nothing.
class DecisionRule {
 public:
  // `margin` in log ratio: FASTER means that the median exceeds it, SLOWER that it is below -margin.
  DecisionRule(SequentialDesign design, double margin);

  RuleOutcome Add(double log_ratio);
  RuleOutcome outcome() const { return outcome_; }
  int groups() const { return groups_; }
  // Groups until the next look; zero when it is over.
  int GroupsToNextLook() const;

 private:
  SequentialDesign design_;
  double margin_;
  size_t next_look_ = 0;
  int groups_ = 0;
  int wins_ = 0;
  int losses_ = 0;  // groups beyond the margin on the other side
  RuleOutcome outcome_ = RuleOutcome::kOpen;
};

// A wager against "wins are no more likely than losses", for runs whose end is not planned (resumed
// campaigns, the instrument's own A/A over a session): it may be looked at after every group.
class EProcess {
 public:
  void Add(bool win);
  // Capital now, and the most it ever was; the latter reaches 1/alpha with probability alpha at most.
  double value() const;
  double peak() const { return peak_; }
  bool Rejects(double alpha) const { return peak_ >= 1.0 / alpha; }

 private:
  static constexpr double kStakes[] = {0.3, 0.6, 0.9, 1.0};
  double capital_[4] = {0.25, 0.25, 0.25, 0.25};
  double peak_ = 1.0;
};

// lambda of the probabilistic error bound: sqrt(2 ln(2 n k / delta)).
double ProbabilisticGrowth(double elements, double roundings, double delta = 1e-6);

}  // namespace assay
