// SPDX-License-Identifier: Apache-2.0
#include "verify/solve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr double kHonestFactor = 4.0;
// gamma_{3n+1} of a system of one unknown, in roundings.
constexpr double kLeastRoundings = 4.0;

// Of the arithmetic, or of the output where that is narrower.
double RoundoffOf(const OutputRule& rule) { return std::max(RoundoffOf(rule.in), RoundoffOf(rule.dtype)); }

double RatioOf(double residual, double scale) {
  if (residual == 0.0) return 0.0;
  return scale > 0.0 ? std::abs(residual) / scale : kInfinity;
}

void TakeLarger(double& largest, double value) {
  // A NaN is larger than anything.
  if (!(value <= largest)) largest = std::isnan(value) ? kInfinity : value;
}

}  // namespace

ElementVerdict JudgeResidual(const OutputRule& rule, const ExpectedElement& expected) {
  if (expected.no_information) return {ElementResult::kExcluded, 0.0, kInfinity};
  const double roundings = (3.0 * expected.probability + 1.0) * RoundoffOf(rule);
  // So many roundings in so coarse a format promise nothing.
  if (!(roundings < 1.0)) return {ElementResult::kExcluded, 0.0, kInfinity};
  const double limit = roundings / (1.0 - roundings) * expected.scale;
  const double error = std::abs(expected.other);
  // An infinite answer has an infinite scale.
  const bool right = std::isfinite(error) && error <= limit;
  return {right ? ElementResult::kRight : ElementResult::kWrong, error, limit};
}

void ResidualTally::Errors::Take(double ratio, double scale) {
  TakeLarger(componentwise, ratio);
  TakeLarger(residual, scale > 0.0 ? ratio * scale : 0.0);
}

void ResidualTally::Add(const ExpectedElement& expected, std::span<const double> honest) {
  if (expected.no_information) return;
  scale_ = std::max(scale_, expected.scale);
  own_.Take(RatioOf(expected.other, expected.scale), expected.scale);
  has_honest_ = has_honest_ || !honest.empty();
  for (size_t h = 0; h < honest.size(); ++h) honest_[h].Take(honest[h], expected.scale);
}

double ResidualTally::honest_componentwise() const {
  double worst = 0;
  for (const Errors& errors : honest_) worst = std::max(worst, errors.componentwise);
  return worst;
}

double ResidualTally::honest_normwise() const {
  double worst = 0;
  for (const Errors& errors : honest_) worst = std::max(worst, errors.residual);
  return scale_ > 0.0 ? worst / scale_ : 0.0;
}

PrecisionVerdict JudgeBackwardErrors(const OutputRule& rule, std::span<const ResidualTally> slices) {
  WorstRule worst;
  const double least = kLeastRoundings * RoundoffOf(rule);
  const auto limit = [&](double honest) { return kHonestFactor * honest + least; };
  for (const ResidualTally& slice : slices) {
    if (!slice.has_honest()) continue;
    worst.Take("componentwise backward error", slice.slice(), slice.componentwise(),
               limit(slice.honest_componentwise()));
    worst.Take("normwise backward error", slice.slice(), slice.normwise(), limit(slice.honest_normwise()));
  }
  return worst.verdict();
}

}  // namespace assay
