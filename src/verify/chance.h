// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/compare.h"

// Class stochastic: each element is one of two values, drawn with a probability that the reference
// gives.  A single element can only be outside its support; whether draws are draws is asked of many.
// Every threshold is an inequality that holds for any number of elements (docs/numerics.md), at a
// chance of 1e-12 for each question.
namespace assay {

enum class Side { kKept, kOther, kEither, kNeither };
// Which of its two values the element has; either where they are too close to be told apart.
Side SideOf(const OutputRule& rule, const ExpectedElement& expected, double actual);

ElementVerdict JudgeSupport(const OutputRule& rule, const ExpectedElement& expected, double actual);

// One element that was really drawn.
struct ChanceDraw {
  int64_t offset = 0;
  double centred = 0;   // 1 - p where it was kept, else -p
  double variance = 0;  // p (1 - p)
  double value = 0;     // that it has when it is kept
};

// The draws of one slice, in order.
struct DrawnSlice {
  int64_t slice = 0;
  std::vector<ChanceDraw> draws;
  void Add(const OutputRule& rule, const ExpectedElement& expected, int64_t offset, double actual);
};

// Bias, spread over cells (too wide and too even), dependence on the data, repetition along the
// sequence and from slice to slice.
PrecisionVerdict JudgeDraws(std::span<const DrawnSlice> slices);

// Two calls with different seeds: nothing in common but chance.  Both in order of their offsets.
PrecisionVerdict JudgeApart(std::span<const ChanceDraw> one, std::span<const ChanceDraw> other);

}  // namespace assay
