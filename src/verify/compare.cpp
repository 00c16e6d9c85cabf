// SPDX-License-Identifier: Apache-2.0
#include "verify/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "contract/values.h"
#include "numerics/assay/formats.h"
#include "verify/requantise.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How many times the worst honest order a candidate may be off, and how many roundings on top.  Two
// roundings, not one: an honest online evaluation takes one exponential more than the ensemble does.
constexpr double kHonestFactor = 2.0;
constexpr double kHonestRoundings = 2.0;
// A single slice may be one draw of one shared error (that of its largest logit), and then twice
// the worst of a few others happens to honest kernels every day; six times does not.
constexpr double kSliceFactor = 6.0;
// Largest mean error in output steps; truncation instead of rounding has one half.
constexpr double kBiasLimit = 0.25;
// Fewer slices than this say nothing about a share or a mean over slices.
constexpr size_t kFewSlices = 8;
// And a slice of fewer elements than this is such a draw itself: the honest error of one sum can be as
// good as none by luck, and only other slices tell.
constexpr int64_t kFewElements = 8;
// An element's own rounding dominates its bound when the bound is no wider than this many steps.
constexpr double kRoundingDominates = 1.0;

TieRule TieRuleOf(const std::string& name) {
  if (name == "half_away") return TieRule::kHalfAway;
  if (name == "half_up") return TieRule::kHalfUp;
  if (name == "toward_zero") return TieRule::kTowardZero;
  if (name == "down") return TieRule::kDown;
  ASSAY_CHECK(name == "half_even");  // the schema knows no other
  return TieRule::kHalfEven;
}

ElementVerdict Settled(bool right, double limit) {
  if (right) return {ElementResult::kRight, 0.0, limit};
  return {ElementResult::kWrong, kInfinity, limit};
}

// A value that no order of evaluation changes, but that may still need one rounding to the output's format.
ElementVerdict JudgeExactly(const OutputRule& rule, const ExpectedElement& expected, double actual) {
  const double rounded = RoundedTo(rule.dtype, expected.value);
  if (std::isinf(rounded)) return Settled(actual == rounded, 0.0);
  // Beyond the largest number of a format without infinity: e4m3 has NaN there.
  if (std::isnan(rounded)) return Settled(std::isnan(actual), 0.0);
  const double error = std::abs(actual - expected.value);
  // A representable value has one right answer; another lies between two neighbours, and only at the
  // midpoint are both of them nearest.
  const double limit = rounded == expected.value ? 0.0 : std::abs(rounded - expected.value);
  const bool right = error <= limit;
  // The one right answer is not off at all, however far from the unrounded value it lies.
  return right ? ElementVerdict{ElementResult::kRight, 0.0, limit}
               : ElementVerdict{ElementResult::kWrong, error, limit};
}

// Where the bound reaches beyond the largest number of the output's format: nothing can be said if an
// honest answer may lie on either side, and if it cannot the format's way to overflow is due.
std::optional<ElementVerdict> JudgeOverflow(const OutputRule& rule, const ExpectedElement& expected, double actual) {
  const FormatTraits& format = Traits(rule.dtype);
  if (!format.floating || !(format.infinity || format.nan)) return std::nullopt;
  const double edge = format.max + 0.5 * StepAt(rule.dtype, format.max);
  const double magnitude = std::abs(expected.value);
  if (magnitude + expected.bound < edge) return std::nullopt;
  if (!(magnitude - expected.bound > edge)) return ElementVerdict{ElementResult::kExcluded, 0.0, kInfinity};
  if (!format.infinity) return Settled(std::isnan(actual), 0.0);
  return Settled(actual == std::copysign(kInfinity, expected.value), 0.0);
}

ElementVerdict JudgeWithin(const OutputRule& rule, const ExpectedElement& expected, double actual) {
  // The step where the answer may lie, not where the value lies: just below a power of two an honest
  // answer can round in the wider binade.
  const double step = StepOf(rule.dtype, std::min(std::abs(expected.value) + expected.bound, HighestOf(rule.dtype)));
  const double underflow = rule.flush ? SmallestNormal(rule.dtype) : 0.5 * SmallestSubnormal(rule.dtype);
  const double limit = expected.bound + 0.5 * step + (IsFloating(rule.dtype) ? underflow : 0.0);
  if (!std::isfinite(limit)) return {ElementResult::kExcluded, 0.0, kInfinity};
  const double error = std::abs(actual - expected.value);
  const bool right = error <= limit;
  return {right ? ElementResult::kRight : ElementResult::kWrong, error, limit};
}

double Ratio(double measured, double limit) {
  if (measured <= limit) return limit > 0.0 ? measured / limit : 0.0;
  return limit > 0.0 ? measured / limit : kInfinity;
}

// Honest errors of one slice may share one random factor (the error of a row's largest logit), and a
// handful of draws of it can all be small by luck.  The largest share of its bound that any slice of
// this call needed under any honest order says what this one could have been; less than the largest
// would forget kinds of rows that are rare in a mixture.
std::optional<double> UsualShareOfBound(std::span<const SliceTally> slices) {
  size_t seen = 0;
  double largest = 0.0;
  for (const SliceTally& slice : slices) {
    if (!slice.has_honest() || !(slice.bound_rms() > 0.0)) continue;
    ++seen;
    largest = std::max(largest, slice.honest_rms() / slice.bound_rms());
  }
  if (seen < kFewSlices) return std::nullopt;
  return largest;
}

void JudgeRms(std::span<const SliceTally> slices, Texture texture, WorstRule& worst) {
  const std::optional<double> usual = UsualShareOfBound(slices);
  std::vector<std::pair<double, const SliceTally*>> own;
  for (const SliceTally& slice : slices) {
    if (!slice.has_honest() || slice.judged() == 0 || !(usual || slice.judged() >= kFewElements)) continue;
    const double floor = kHonestRoundings * slice.unit();
    const double honest = std::max(slice.honest_rms(), usual.value_or(0.0) * slice.bound_rms());
    worst.Take("rms of one slice", slice.slice(), slice.error_rms(), kSliceFactor * honest + floor);
    own.emplace_back(Ratio(slice.error_rms(), kHonestFactor * slice.honest_rms() + floor), &slice);
  }
  // Rows of one value, one-hot rows: all slices repeat one sum, whose drift differs from order to order
  // by more than a factor, so that "most slices" would be one draw.
  if (own.size() < kFewSlices || texture == Texture::kStructured) return;
  // Most slices must keep the sharp limit by their own honest errors alone: three quarters of them, or
  // half where the others may be structured.
  std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto& [ratio, slice] = own[texture == Texture::kRandom ? own.size() * 3 / 4 : own.size() / 2];
  worst.Take("rms of most slices", slice->slice(), ratio, 1.0);
}

void TakeBias(const char* rule, const std::vector<double>& means, WorstRule& worst) {
  const auto count = static_cast<double>(means.size());
  double mean = 0;
  for (const double m : means) mean += m / count;
  double square = 0;
  for (const double m : means) square += (m - mean) * (m - mean);
  const double deviation = std::sqrt(square / (count - 1.0));
  worst.Take(rule, 0, std::abs(mean), kBiasLimit + 6.0 * deviation / std::sqrt(count));
}

void JudgeBias(std::span<const SliceTally> slices, WorstRule& worst) {
  std::vector<double> upward, outward;
  std::set<double> draws;
  for (const SliceTally& slice : slices) {
    const auto bias = slice.bias();
    if (!bias) continue;
    upward.push_back(*bias);
    outward.push_back(*slice.bias_outward());
    draws.insert(slice.bias_values());
  }
  // Slices that repeat one computation (constant rows, one-hot rows) are one draw, however many they are.
  if (draws.size() < kFewSlices) return;
  TakeBias("bias toward zero", outward, worst);
  TakeBias("bias", upward, worst);  // of equal ones the plainer word stays
}

}  // namespace

void WorstRule::Take(const char* rule, int64_t slice, double measured, double limit) {
  const bool ok = measured <= limit;
  const double ratio = std::isnan(measured) ? kInfinity : Ratio(measured, limit);
  if (!ok) verdict_.ok = false;
  if (ratio < verdict_.worst || (ratio == 0.0 && verdict_.worst == 0.0 && ok)) return;
  verdict_.rule = rule;
  verdict_.slice = slice;
  verdict_.measured = measured;
  verdict_.limit = limit;
  verdict_.worst = ratio;
}

double StepOf(DType dtype, double x) { return StepAt(dtype, x); }
double RoundedTo(DType dtype, double x) { return RoundTo(dtype, x); }
double RoundoffOf(DType dtype) { return Info(dtype).is_float ? UnitRoundoff(dtype) : 0.0; }

double TruncatedTo(DType dtype, double x) { return RoundTo(dtype, x, Rounding::kTowardZero, Overflow::kSaturate); }

double StoredAs(const OutputRule& rule, double number) {
  if (rule.kind == CompareClass::kRequantise) return CodeOf(rule, number);
  return RoundedTo(rule.dtype, number);
}

OutputRule RuleOf(const Contract& contract, const Tensor& tensor) {
  ASSAY_CHECK(tensor.compare.has_value());
  const Compare& compare = *tensor.compare;
  OutputRule rule{compare.kind, tensor.dtype, compare.in, contract.policy.subnormals_flush};
  if (compare.kind != CompareClass::kRequantise) return rule;
  rule.round = TieRuleOf(compare.round);
  rule.low = compare.clamp_low ? static_cast<double>(*compare.clamp_low) : LowestOf(tensor.dtype);
  rule.high = compare.clamp_high ? static_cast<double>(*compare.clamp_high) : HighestOf(tensor.dtype);
  return rule;
}

ElementVerdict JudgeElement(const OutputRule& rule, const ExpectedElement& expected, double actual) {
  if (expected.no_information) return {ElementResult::kExcluded, 0.0, kInfinity};
  if (rule.kind == CompareClass::kRequantise) return JudgeCode(rule, expected, actual);
  if (std::isnan(expected.value)) return Settled(std::isnan(actual), 0.0);
  if (std::isinf(expected.value)) return Settled(actual == expected.value, 0.0);
  const bool exact = rule.kind == CompareClass::kExact || expected.exact;
  if (!exact && !(expected.bound < kInfinity)) return {ElementResult::kExcluded, 0.0, kInfinity};
  if (exact) return JudgeExactly(rule, expected, actual);
  if (const auto beyond = JudgeOverflow(rule, expected, actual)) return *beyond;
  if (!std::isfinite(actual)) return Settled(false, expected.bound);
  return JudgeWithin(rule, expected, actual);
}

ElementVerdict SliceTally::Add(const OutputRule& rule, const ExpectedElement& expected, double actual,
                               std::span<const double> honest) {
  asked_ = asked_ || !honest.empty();
  const ElementVerdict verdict = JudgeElement(rule, expected, actual);
  if (verdict.result == ElementResult::kExcluded) {
    ++excluded_;
    return verdict;
  }
  ++judged_;
  if (!std::isfinite(expected.value)) return verdict;  // settled, and no part of any mean
  const double error = actual - expected.value;
  const double step = StepOf(rule.dtype, expected.value);
  // Every element counts by its own condition.  Unweighted, the one with the largest terms (an
  // outlier's row among plain ones) would be the whole mean, and a mean of one says nothing.
  const double scale = expected.bound + 0.5 * step;
  const double weight = scale > 0.0 ? 1.0 / scale : 0.0;
  const double rounding =
      std::max(RoundoffOf(rule.in), RoundoffOf(rule.dtype)) * std::abs(expected.value) + StepOf(rule.dtype, 0.0);
  error_square_ += error * error * weight * weight;
  bound_square_ += expected.bound * expected.bound * weight * weight;
  unit_square_ += rounding * rounding * weight * weight;
  // Below the normal range a step is a large share of the value: an intermediate there is off by half of one, the
  // same for all elements that share it, and honest errors lean.
  const bool normal = std::abs(expected.value) - expected.bound >= SmallestNormal(rule.dtype);
  if (rule.kind == CompareClass::kAccumulate && !expected.exact && normal &&
      expected.bound <= kRoundingDominates * step) {
    bias_sum_ += error / step;
    bias_outward_ += std::copysign(1.0, expected.value) * error / step;
    bias_values_ += expected.value;
    ++bias_elements_;
  }
  if (!honest.empty()) {
    ASSAY_CHECK(honest.size() == honest_square_.size());
    ++honest_elements_;
    for (size_t i = 0; i < honest.size(); ++i) {
      const double off = RoundedTo(rule.dtype, honest[i]) - expected.value;
      honest_square_[i] += off * off * weight * weight;
    }
  }
  return verdict;
}

void SliceTally::Join(const SliceTally& other) {
  ASSAY_CHECK(honest_square_.size() == other.honest_square_.size());
  asked_ = asked_ || other.asked_;
  judged_ += other.judged_;
  excluded_ += other.excluded_;
  honest_elements_ += other.honest_elements_;
  bias_elements_ += other.bias_elements_;
  error_square_ += other.error_square_;
  bound_square_ += other.bound_square_;
  unit_square_ += other.unit_square_;
  bias_sum_ += other.bias_sum_;
  bias_outward_ += other.bias_outward_;
  bias_values_ += other.bias_values_;
  for (size_t i = 0; i < honest_square_.size(); ++i) honest_square_[i] += other.honest_square_[i];
}

double SliceTally::error_rms() const {
  return judged_ > 0 ? std::sqrt(error_square_ / static_cast<double>(judged_)) : 0.0;
}
double SliceTally::bound_rms() const {
  return judged_ > 0 ? std::sqrt(bound_square_ / static_cast<double>(judged_)) : 0.0;
}

double SliceTally::honest_rms() const {
  double worst = 0;
  for (const double square : honest_square_) worst = std::max(worst, square);
  return honest_elements_ > 0 ? std::sqrt(worst / static_cast<double>(honest_elements_)) : 0.0;
}

double SliceTally::unit() const { return judged_ > 0 ? std::sqrt(unit_square_ / static_cast<double>(judged_)) : 0.0; }

std::optional<double> SliceTally::bias() const {
  if (bias_elements_ == 0) return std::nullopt;
  return bias_sum_ / static_cast<double>(bias_elements_);
}

std::optional<double> SliceTally::bias_outward() const {
  if (bias_elements_ == 0) return std::nullopt;
  return bias_outward_ / static_cast<double>(bias_elements_);
}

std::vector<SliceTally> JoinSmallSlices(std::vector<SliceTally> tallies) {
  // What has no ensemble is no part of what an ensemble speaks of: a row of a rare kind among it would count as
  // an error, and not as an honest one.
  const auto join = [](std::vector<SliceTally> parts, auto&& is_small) {
    std::vector<SliceTally> joined;
    for (SliceTally& part : parts) {
      if (!joined.empty() && joined.back().asked() == part.asked() && is_small(joined.back(), part)) {
        joined.back().Join(part);
      } else {
        joined.push_back(std::move(part));
      }
    }
    return joined;
  };
  tallies = join(std::move(tallies), [](const SliceTally& last, auto&) { return last.judged() < kSliceElements; });
  // What is left over belongs to the full one before it.
  return join(std::move(tallies), [](auto&, const SliceTally& next) { return next.judged() < kSliceElements; });
}

PrecisionVerdict JudgePrecision(std::span<const SliceTally> slices, Texture texture) {
  WorstRule worst;
  JudgeRms(slices, texture, worst);
  JudgeBias(slices, worst);
  return worst.verdict();
}

}  // namespace assay
