// SPDX-License-Identifier: Apache-2.0
#include "verify/chance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ln(2 / 1e-12): two sides, a chance of 1e-12 for each question.
constexpr double kLogChance = 28.324168296488494;
// Draws looked at for repetition, how far apart, and draws of one cell.
constexpr size_t kSequence = 8192;
constexpr size_t kMostLag = 2048;
constexpr size_t kCell = 64;

// Freedman: sums of differences of a martingale that are at most 1, with so much predictable variance.
double SumLimit(double variance) {
  const double third = kLogChance / 3.0;
  return third + std::sqrt(third * third + 2.0 * variance * kLogChance);
}

// How wide a draw's tails are at worst, as the variance of a normal one (Kearns and Saul).
double ProxyOf(double p) {
  if (std::abs(p - 0.5) < 1e-6) return 0.25;
  return (1.0 - 2.0 * p) / (2.0 * std::log((1.0 - p) / p));
}

// The weighted sum of what should average to nothing; weights are at most 1 and know nothing of the draws.
void JudgeWeighted(const char* rule, std::span<const ChanceDraw> draws, std::span<const double> weights,
                   WorstRule& worst) {
  double sum = 0, variance = 0;
  for (size_t i = 0; i < draws.size(); ++i) {
    sum += weights[i] * draws[i].centred;
    variance += weights[i] * weights[i] * draws[i].variance;
  }
  worst.Take(rule, 0, std::abs(sum), SumLimit(variance));
}

void JudgeDependence(std::span<const ChanceDraw> draws, WorstRule& worst) {
  const size_t n = draws.size();
  std::vector<double> weights(n, 1.0);
  JudgeWeighted("bias", draws, weights, worst);
  for (size_t i = 0; i < n; ++i) weights[i] = draws[i].value < 0.0 ? -1.0 : 1.0;
  JudgeWeighted("dependence on the sign of the data", draws, weights, worst);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const double x = std::abs(draws[a].value), y = std::abs(draws[b].value);
    return x != y ? x < y : a < b;
  });
  for (size_t r = 0; r < n && n > 1; ++r)
    weights[order[r]] = 2.0 * static_cast<double>(r) / static_cast<double>(n - 1) - 1.0;
  JudgeWeighted("dependence on the size of the data", draws, weights, worst);
}

void JudgeCells(std::span<const ChanceDraw> draws, WorstRule& worst) {
  double excess = 0, count = 0, even = 0, square = 0;
  for (size_t begin = 0; begin + kCell <= draws.size(); begin += kCell) {
    double sum = 0, variance = 0, proxy = 0;
    for (const ChanceDraw& draw : draws.subspan(begin, kCell)) {
      sum += draw.centred;
      variance += draw.variance;
      proxy += ProxyOf(draw.centred > 0.0 ? 1.0 - draw.centred : -draw.centred);
    }
    excess += sum * sum / proxy;
    even += variance - sum * sum;
    square += 3.0 * variance * variance + variance;  // at least the mean of sum^4
    ++count;
  }
  if (count == 0.0) return;
  worst.Take("chi-square over cells: too wide", 0, excess,
             count + 2.0 * std::sqrt(count * kLogChance) + 2.0 * kLogChance);
  worst.Take("chi-square over cells: too even", 0, std::max(even, 0.0), std::sqrt(2.0 * square * kLogChance));
}

struct Product {
  double sum = 0, variance = 0;
  void Add(const ChanceDraw& earlier, const ChanceDraw& later) {
    sum += earlier.centred * later.centred;
    variance += earlier.centred * earlier.centred * later.variance;
  }
};

void JudgeLags(std::span<const ChanceDraw> draws, WorstRule& worst) {
  const size_t n = std::min(draws.size(), kSequence);
  for (size_t lag = 1; lag <= std::min(kMostLag, n / 2); ++lag) {
    Product product;
    for (size_t i = 0; i + lag < n; ++i) product.Add(draws[i], draws[i + lag]);
    worst.Take("repetition along the sequence", static_cast<int64_t>(lag), std::abs(product.sum),
               SumLimit(product.variance));
  }
}

void JudgeSliceToSlice(std::span<const DrawnSlice> slices, WorstRule& worst) {
  Product product;
  for (size_t s = 1; s < slices.size(); ++s) {
    const auto& before = slices[s - 1].draws;
    const auto& after = slices[s].draws;
    if (before.size() != after.size()) continue;
    for (size_t i = 0; i < after.size(); ++i) product.Add(before[i], after[i]);
  }
  worst.Take("repetition from slice to slice", 0, std::abs(product.sum), SumLimit(product.variance));
}

double ClampedProbability(const ExpectedElement& expected) { return std::clamp(expected.probability, 0.0, 1.0); }

}  // namespace

Side SideOf(const OutputRule& rule, const ExpectedElement& expected, double actual) {
  OutputRule plain = rule;
  plain.kind = CompareClass::kAccumulate;
  const auto is = [&](double value, double bound) {
    return JudgeElement(plain, {value, bound}, actual).result == ElementResult::kRight;
  };
  const bool kept = is(expected.value, expected.bound), other = is(expected.other, expected.scale);
  if (kept && other) return Side::kEither;
  return kept ? Side::kKept : other ? Side::kOther : Side::kNeither;
}

ElementVerdict JudgeSupport(const OutputRule& rule, const ExpectedElement& expected, double actual) {
  if (expected.no_information || !std::isfinite(expected.probability))
    return {ElementResult::kExcluded, 0.0, kInfinity};
  const double p = ClampedProbability(expected);
  const Side side = SideOf(rule, expected, actual);
  const bool impossible =
      side == Side::kNeither || (side == Side::kKept && p == 0.0) || (side == Side::kOther && p == 1.0);
  const double off = std::min(p > 0.0 ? std::abs(actual - expected.value) : kInfinity,
                              p < 1.0 ? std::abs(actual - expected.other) : kInfinity);
  const double limit = std::max(expected.bound, 0.5 * StepOf(rule.dtype, expected.value));
  if (impossible) return {ElementResult::kWrong, std::isnan(off) ? kInfinity : off, limit};
  return {ElementResult::kRight, 0.0, limit};
}

void DrawnSlice::Add(const OutputRule& rule, const ExpectedElement& expected, int64_t offset, double actual) {
  const double p = ClampedProbability(expected);
  if (expected.no_information || !(p > 0.0 && p < 1.0)) return;
  const Side side = SideOf(rule, expected, actual);
  if (side == Side::kEither || side == Side::kNeither) return;
  draws.push_back({offset, side == Side::kKept ? 1.0 - p : -p, p * (1.0 - p), expected.value});
}

PrecisionVerdict JudgeDraws(std::span<const DrawnSlice> slices) {
  std::vector<ChanceDraw> all;
  for (const DrawnSlice& slice : slices) all.insert(all.end(), slice.draws.begin(), slice.draws.end());
  WorstRule worst;
  JudgeDependence(all, worst);
  JudgeCells(all, worst);
  JudgeLags(all, worst);
  JudgeSliceToSlice(slices, worst);
  return worst.verdict();
}

PrecisionVerdict JudgeApart(std::span<const ChanceDraw> one, std::span<const ChanceDraw> other) {
  Product product;
  for (size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    if (one[i].offset == other[j].offset)
      product.Add(one[i++], other[j++]);
    else if (one[i].offset < other[j].offset)
      ++i;
    else
      ++j;
  }
  WorstRule worst;
  worst.Take("repetition from seed to seed", 0, std::abs(product.sum), SumLimit(product.variance));
  return worst.verdict();
}

PrecisionVerdict AllDraws::Add(size_t tensor, const std::vector<double>& seeds, const std::string& shape,
                               std::span<const ChanceDraw> draws) {
  WorstRule worst;
  const auto [entry, fresh] = seen_.try_emplace({tensor, seeds}, Seen{shape, -1});
  Seen& seen = entry->second;
  if (draws.empty() || seen.shape != shape || draws.front().offset <= seen.last) return worst.verdict();
  seen.last = draws.back().offset;
  Sums& sums = sums_[tensor];
  for (const ChanceDraw& draw : draws) {
    sums.all += draw.centred;
    sums.by_sign += draw.value < 0.0 ? -draw.centred : draw.centred;
    sums.variance += draw.variance;
  }
  worst.Take("bias over all calls", 0, std::abs(sums.all), SumLimit(sums.variance));
  worst.Take("dependence on the sign of the data over all calls", 0, std::abs(sums.by_sign), SumLimit(sums.variance));
  return worst.verdict();
}

}  // namespace assay
