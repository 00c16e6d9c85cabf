// SPDX-License-Identifier: Apache-2.0
#include "verify/requantise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "numerics/assay/formats.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A bound narrower than this many steps leaves so few elements a choice that the rule for single
// elements says all there is to say.
constexpr double kFreeBound = 1.0 / 16.0;
// Largest mean move beyond twice that of honest orders; truncation where rounding is due has one half.
constexpr double kDirectionLimit = 0.125;
constexpr double kHonestFactor = 2.0;
constexpr size_t kFewSlices = 8;

// The neighbour of a code on the side away from zero, and on the side of it.
double Outward(DType dtype, double code) { return code + std::copysign(StepOf(dtype, code), code); }
double Inward(DType dtype, double code) {
  const double magnitude = std::abs(code);
  // Just above a power of two the step inward is half as long.
  const double inner = TruncatedTo(dtype, magnitude - 0.25 * StepOf(dtype, magnitude));
  return std::copysign(inner, code);
}
double Above(DType dtype, double code) { return code < 0.0 ? Inward(dtype, code) : Outward(dtype, std::abs(code)); }
double Below(DType dtype, double code) { return -Above(dtype, -code); }

bool IsEven(DType dtype, double code) { return std::fmod(code / StepOf(dtype, code), 2.0) == 0.0; }

// Where the values of this code begin.
double LowerEdge(const OutputRule& rule, double code) {
  switch (rule.round) {
    case TieRule::kDown:
      return code;
    case TieRule::kTowardZero:
      return code > 0.0 ? code : Below(rule.dtype, code);
    default:
      return 0.5 * (Below(rule.dtype, code) + code);
  }
}

// Of the two codes around a value: the one toward zero, or the next one outward?
bool TakesOutward(const OutputRule& rule, double value, double inner, double step) {
  const double rest = std::abs(value - inner);
  if (rest == 0.0 || rule.round == TieRule::kTowardZero) return false;
  if (rule.round == TieRule::kDown) return value < 0.0;
  if (rest != 0.5 * step) return rest > 0.5 * step;
  switch (rule.round) {
    case TieRule::kHalfAway:
      return true;
    case TieRule::kHalfUp:
      return value > 0.0;
    default:
      return !IsEven(rule.dtype, inner);
  }
}

}  // namespace

double CodeOf(const OutputRule& rule, double unrounded) {
  if (std::isnan(unrounded)) return unrounded;
  const double value = std::clamp(unrounded, rule.low, rule.high);
  const double inner = TruncatedTo(rule.dtype, value), step = StepOf(rule.dtype, inner);
  return TakesOutward(rule, value, inner, step) ? inner + std::copysign(step, value) : inner;
}

double DistanceToCode(const OutputRule& rule, double unrounded, double code) {
  const double lower = code <= rule.low ? -kInfinity : LowerEdge(rule, code);
  const double upper = code >= rule.high ? kInfinity : LowerEdge(rule, Above(rule.dtype, code));
  return std::max({0.0, lower - unrounded, unrounded - upper});
}

ElementVerdict JudgeCode(const OutputRule& rule, const ExpectedElement& expected, double actual) {
  if (expected.no_information) return {ElementResult::kExcluded, 0.0, kInfinity};
  if (std::isnan(expected.value)) {
    // An integer has no code for it: what a kernel makes of it is nobody's business.
    if (!Info(rule.dtype).has_nan) return {ElementResult::kExcluded, 0.0, kInfinity};
    return {std::isnan(actual) ? ElementResult::kRight : ElementResult::kWrong, std::isnan(actual) ? 0.0 : kInfinity,
            0.0};
  }
  const double bound = expected.exact ? 0.0 : expected.bound;
  if (!(bound < kInfinity)) return {ElementResult::kExcluded, 0.0, kInfinity};
  const bool within = actual >= rule.low && actual <= rule.high;
  if (!within) return {ElementResult::kWrong, kInfinity, bound};
  if (actual == CodeOf(rule, expected.value)) return {ElementResult::kRight, 0.0, bound};
  const double distance = DistanceToCode(rule, expected.value, actual);
  const bool reachable = bound > 0.0 && distance <= bound;
  return {reachable ? ElementResult::kRight : ElementResult::kWrong, distance, bound};
}

void DirectionTally::Add(const OutputRule& rule, const ExpectedElement& expected, double actual,
                         std::span<const double> honest) {
  if (expected.no_information || expected.exact || honest.empty() || !std::isfinite(expected.value)) return;
  const double step = StepOf(rule.dtype, std::abs(expected.value));
  const double code = CodeOf(rule, expected.value);
  const bool free = expected.bound > kFreeBound * step && expected.bound < kInfinity;
  if (!free || !(code > rule.low && code < rule.high)) return;
  ASSAY_CHECK(honest.size() == honest_.size());
  ++free_;
  const double away = expected.value < 0.0 ? -1.0 : 1.0;
  const auto add = [&](double* sums, double to, double move) {
    sums[0] += move;
    sums[1] += away * move;
    sums[2] += IsEven(rule.dtype, to) ? std::abs(move) : -std::abs(move);
  };
  add(moves_, actual, (actual - code) / step);
  for (size_t h = 0; h < honest.size(); ++h) {
    const double honest_code = CodeOf(rule, honest[h]);
    add(honest_[h].moves, honest_code, (honest_code - code) / step);
    add(honest_[h].errors, honest_code, (honest[h] - expected.value) / step);
  }
}

double DirectionTally::honest(size_t direction) const {
  double largest = 0;
  for (const Lean& lean : honest_)
    largest = std::max({largest, std::abs(lean.moves[direction]), std::abs(lean.errors[direction])});
  return largest / static_cast<double>(free_);
}

PrecisionVerdict JudgeDirection(std::span<const DirectionTally> slices, Texture texture) {
  PrecisionVerdict verdict;
  verdict.ok = true;
  // Where values repeat, so do the fractions that decide which way a code can go.
  if (texture != Texture::kRandom) return verdict;
  static constexpr const char* kNames[DirectionTally::kDirections] = {
      "mean move of codes upward", "mean move of codes away from zero", "share of codes that move to even ones"};
  for (size_t d = 0; d < DirectionTally::kDirections; ++d) {
    std::vector<double> means;
    double honest = 0;
    for (const DirectionTally& slice : slices) {
      if (slice.free() == 0) continue;
      means.push_back(slice.mean(d));
      honest += slice.honest(d);
    }
    if (means.size() < kFewSlices) continue;
    const auto count = static_cast<double>(means.size());
    double mean = 0, square = 0;
    for (const double m : means) mean += m / count;
    for (const double m : means) square += (m - mean) * (m - mean);
    const double deviation = std::sqrt(square / (count - 1.0));
    const double limit = kHonestFactor * honest / count + kDirectionLimit + 6.0 * deviation / std::sqrt(count);
    const double measured = std::abs(mean);
    const double ratio = std::isnan(measured) ? kInfinity : measured / limit;
    if (!(measured <= limit)) verdict.ok = false;
    if (ratio < verdict.worst) continue;
    verdict.rule = kNames[d];
    verdict.measured = measured;
    verdict.limit = limit;
    verdict.worst = ratio;
  }
  return verdict;
}

}  // namespace assay
