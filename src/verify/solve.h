// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/compare.h"

// Class solve: what a candidate returned is judged by how well it solves its equation, not by how near
// it lies to the solution, which the condition of the problem alone can spoil.  The reference gives the
// residual of what was returned and the scale that makes it free of units.
namespace assay {

// |residual| <= gamma_{3n+1} scale: what every backward stable algorithm keeps, in any order.
ElementVerdict JudgeResidual(const OutputRule& rule, const ExpectedElement& expected);

// Backward errors of one slice.
class ResidualTally {
 public:
  ResidualTally(int64_t slice, size_t orders) : slice_(slice), honest_(orders) {}

  // `honest`: |residual| / scale of each honest order.
  void Add(const ExpectedElement& expected, std::span<const double> honest);

  int64_t slice() const { return slice_; }
  bool has_honest() const { return has_honest_; }
  double componentwise() const { return own_.componentwise; }
  double normwise() const { return scale_ > 0.0 ? own_.residual / scale_ : 0.0; }
  double honest_componentwise() const;
  double honest_normwise() const;

 private:
  struct Errors {
    double componentwise = 0;  // largest ratio; NaN stays
    double residual = 0;       // largest residual
    void Take(double ratio, double scale);
  };

  int64_t slice_;
  double scale_ = 0;  // largest
  bool has_honest_ = false;
  Errors own_;
  std::vector<Errors> honest_;
};

// Each slice at most four times as bad as its worst honest order, plus what a system of one unknown costs.
PrecisionVerdict JudgeBackwardErrors(const OutputRule& rule, std::span<const ResidualTally> slices);

}  // namespace assay
