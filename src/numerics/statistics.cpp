// SPDX-License-Identifier: Apache-2.0
#include "numerics/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace assay {
namespace {

// log of n over k.
double LogChoose(int n, int k) { return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0); }

double BinomialPoint(int n, int k, double p) {
  if (p <= 0.0) return k == 0 ? 1.0 : 0.0;
  if (p >= 1.0) return k == n ? 1.0 : 0.0;
  return std::exp(LogChoose(n, k) + k * std::log(p) + (n - k) * std::log1p(-p));
}

// Distribution of the wins among paths that have not crossed yet.
class Walk {
 public:
  explicit Walk(double p) : p_(p), alive_{1.0} {}

  void Advance(int groups) {
    std::vector<double> next(alive_.size() + static_cast<size_t>(groups), 0.0);
    for (size_t wins = 0; wins < alive_.size(); ++wins) {
      for (int more = 0; more <= groups; ++more)
        next[wins + static_cast<size_t>(more)] += alive_[wins] * BinomialPoint(groups, more, p_);
    }
    alive_ = std::move(next);
    groups_ += groups;
  }
  double Above(int wins) const {
    double sum = 0.0;
    for (size_t k = static_cast<size_t>(std::max(wins, 0)); k < alive_.size(); ++k) sum += alive_[k];
    return sum;
  }
  // Removes and returns the paths that cross here.
  double Cross(int wins) {
    const double crossed = Above(wins);
    if (static_cast<size_t>(std::max(wins, 0)) < alive_.size()) alive_.resize(static_cast<size_t>(std::max(wins, 0)));
    return crossed;
  }
  int groups() const { return groups_; }

 private:
  double p_;
  std::vector<double> alive_;
  int groups_ = 0;
};

// Even spacing from the first look to the last; at four looks and a first of 8: 8, 14, 20, 30.  The
// last gap is the widest, since it serves small effects only.
std::vector<int> LookTimes(int first, int looks) {
  const int last = std::max(30, 2 * first);
  std::vector<int> times{first};
  for (int k = 1; k < looks; ++k) {
    const double share = k == looks - 1 ? 1.0 : k * 9.0 / (11.0 * (looks - 1));
    times.push_back(std::max(times.back() + 1, first + static_cast<int>(std::lround(share * (last - first)))));
  }
  return times;
}

}  // namespace

double Median(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(sorted.begin(), middle));
}

// 1.4826 makes the deviation a standard deviation, 1.2533 = sqrt(pi / 2) a mean's error a median's.
double MedianStandardError(std::span<const double> values) {
  if (values.size() < 2) return 0.0;
  const double centre = Median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::fabs(value - centre));
  return 1.2533 * 1.4826 * Median(deviations) / std::sqrt(static_cast<double>(values.size()));
}

double BinomialTail(int n, int k) {
  double sum = 0.0;
  for (int i = 0; i <= std::min(k, n); ++i) sum += BinomialPoint(n, i, 0.5);
  return std::min(sum, 1.0);
}

OrderInterval MedianInterval(std::span<const double> values, double alpha) {
  const int n = static_cast<int>(values.size());
  // x[k] from below is above the median with P(at most k of n lie below it); the same from above.
  int k = -1;
  while (k + 1 < n - (k + 1) && 2.0 * BinomialTail(n, k + 1) <= alpha) ++k;
  if (k < 0) return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {sorted[static_cast<size_t>(k)], sorted[static_cast<size_t>(n - 1 - k)]};
}

// Half of alpha may be spent at the first look, the rest in equal parts; each boundary is the lowest
// number of wins that keeps to this.
SequentialDesign GroupSequential(double alpha, int looks) {
  SequentialDesign design;
  design.alpha = alpha;
  if (!(alpha > 0.0 && alpha < 1.0) || looks < 1) return design;
  const double at_first = looks == 1 ? alpha : 0.5 * alpha;
  const int first = std::max(1, static_cast<int>(std::ceil(-std::log2(at_first) - 1e-12)));
  const std::vector<int> times = LookTimes(first, looks);
  Walk walk(0.5);
  for (size_t k = 0; k < times.size(); ++k) {
    const double share = looks == 1 ? 1.0 : 0.5 + 0.5 * static_cast<double>(k) / (looks - 1);
    walk.Advance(times[k] - walk.groups());
    int wins = times[k] + 1;
    while (wins > times[k] / 2 + 1 && design.false_claims + walk.Above(wins - 1) <= share * alpha * (1.0 + 1e-12))
      --wins;
    if (wins > times[k]) continue;
    design.false_claims += walk.Cross(wins);
    design.looks.push_back({times[k], wins});
  }
  return design;
}

// Half of alpha may be spent at the first look, the rest in equal parts, as above.
SequentialDesign RareLosses(double share, double alpha, int looks) {
  SequentialDesign design;
  design.alpha = alpha;
  if (!(alpha > 0.0 && alpha < 1.0 && share > 0.0 && share < 1.0)) return design;
  Walk walk(1.0 - share);
  for (int losses = 0; losses < looks; ++losses) {
    const double spent = looks == 1 ? 1.0 : 0.5 + 0.5 * losses / (looks - 1);
    // More groups make so few losses less likely: the first number that is enough is taken.
    do walk.Advance(1);
    while (!(design.false_claims + walk.Above(walk.groups() - losses) <= spent * alpha));
    design.false_claims += walk.Cross(walk.groups() - losses);
    design.looks.push_back({walk.groups(), walk.groups() - losses});
  }
  return design;
}

double CrossingProbability(std::span<const SequentialLook> looks, double p) {
  Walk walk(p);
  double crossed = 0.0;
  for (const SequentialLook& look : looks) {
    walk.Advance(look.groups - walk.groups());
    crossed += walk.Cross(look.wins);
  }
  return crossed;
}

double ExpectedGroups(std::span<const SequentialLook> looks, double p) {
  Walk walk(p);
  double expected = 0.0;
  for (size_t k = 0; k < looks.size(); ++k) {
    walk.Advance(looks[k].groups - walk.groups());
    expected += looks[k].groups * walk.Cross(looks[k].wins);
    if (k + 1 == looks.size()) expected += looks[k].groups * walk.Above(0);
  }
  return expected;
}

double WinProbability(double effect, double margin, double sigma) {
  if (!(sigma > 0.0)) return effect > margin ? 1.0 : 0.0;
  return 0.5 * std::erfc(-(effect - margin) / (sigma * std::sqrt(2.0)));
}

double ResolvableEffect(const SequentialDesign& design, double margin, double sigma, double power) {
  double low = margin, high = margin + 20.0 * sigma;
  if (!(CrossingProbability(design.looks, WinProbability(high, margin, sigma)) >= power))
    return std::numeric_limits<double>::infinity();
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (CrossingProbability(design.looks, WinProbability(middle, margin, sigma)) >= power ? high : low) = middle;
  }
  return high;
}

bool Futile(int wins, int losses) { return losses - wins >= 3; }

DecisionRule::DecisionRule(SequentialDesign design, double margin) : design_(std::move(design)), margin_(margin) {
  if (design_.looks.empty()) outcome_ = RuleOutcome::kUndecided;
}

RuleOutcome DecisionRule::Add(double log_ratio) {
  if (outcome_ != RuleOutcome::kOpen) return outcome_;
  ++groups_;
  // A NaN is neither a win nor a loss.
  if (log_ratio > margin_) ++wins_;
  if (log_ratio < -margin_) ++losses_;
  const SequentialLook& look = design_.looks[next_look_];
  if (groups_ < look.groups) return outcome_;
  ++next_look_;
  if (wins_ >= look.wins) return outcome_ = RuleOutcome::kFaster;
  if (losses_ >= look.wins) return outcome_ = RuleOutcome::kSlower;
  if (next_look_ == design_.looks.size()) outcome_ = RuleOutcome::kUndecided;
  return outcome_;
}

int DecisionRule::GroupsToNextLook() const {
  return outcome_ == RuleOutcome::kOpen ? design_.looks[next_look_].groups - groups_ : 0;
}

void EProcess::Add(bool win) {
  for (size_t i = 0; i < std::size(kStakes); ++i) capital_[i] *= 1.0 + (win ? kStakes[i] : -kStakes[i]);
  peak_ = std::max(peak_, value());
}

double EProcess::value() const {
  double sum = 0.0;
  for (const double capital : capital_) sum += capital;
  return sum;
}

double ProbabilisticGrowth(double elements, double roundings, double delta) {
  return std::sqrt(2.0 * std::log(2.0 * elements * roundings / delta));
}

}  // namespace assay
