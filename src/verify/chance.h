// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
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

// The draws of all calls of one kernel: a bias too small for one call adds up.
class AllDraws {
 public:
  // `seeds`: the call's integer scalars.  Only what is new counts: another seed, or later places of the
  // call that was added last under this one.  The same mask looked at twice is one draw.
  PrecisionVerdict Add(size_t tensor, const std::vector<double>& seeds, const std::string& shape,
                       std::span<const ChanceDraw> draws);

 private:
  struct Seen {
    std::string shape;
    int64_t last = -1;  // offset
  };
  struct Sums {
    double all = 0, by_sign = 0, variance = 0;
  };
  std::map<std::pair<size_t, std::vector<double>>, Seen> seen_;
  std::map<size_t, Sums> sums_;
};

}  // namespace assay
