// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/compare.h"

// Class requantise: an output is the code to which an unrounded value is rounded, one step apart on a
// grid (integers, or a narrow float).  The reference gives the unrounded value and its bound.
namespace assay {

// The code of an unrounded value: rounded by the rule's ties, saturated at its ends.
double CodeOf(const OutputRule& rule, double unrounded);

// How far an unrounded value would have to move to be given this code; 0 for its own.
double DistanceToCode(const OutputRule& rule, double unrounded, double code);

// Right is the code of the value itself, and any code that a value within the bound has; where the
// bound is nothing the rule for ties decides.  Error and limit are those of the unrounded value.
ElementVerdict JudgeCode(const OutputRule& rule, const ExpectedElement& expected, double actual);

// Which way codes move where the bound leaves them a choice, over one slice.
class DirectionTally {
 public:
  DirectionTally(int64_t slice, size_t orders) : slice_(slice), honest_(orders) {}

  void Add(const OutputRule& rule, const ExpectedElement& expected, double actual, std::span<const double> honest);

  // Mean moves in steps: up, away from zero, to the even code.
  static constexpr size_t kDirections = 3;
  int64_t slice() const { return slice_; }
  int64_t free() const { return free_; }
  double mean(size_t direction) const { return moves_[direction] / static_cast<double>(free_); }
  double honest(size_t direction) const;  // of the order that leans most

 private:
  int64_t slice_;
  int64_t free_ = 0;
  double moves_[kDirections] = {};
  struct Lean {
    double moves[kDirections] = {};   // as codes
    double errors[kDirections] = {};  // before rounding
  };
  std::vector<Lean> honest_;
};

// Whether codes lean further one way than those of honest orders; silent with few slices to judge by.
PrecisionVerdict JudgeDirection(std::span<const DirectionTally> slices, Texture texture);

}  // namespace assay
