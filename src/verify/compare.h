// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "numerics/dtype.h"

// The comparison of an answer with the executed reference: pure functions, no process and no file.
// Nobody types a tolerance: every limit here comes from running the reference.
namespace assay {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// What the executed reference says of one output element.
struct ExpectedElement {
  double value = 0;             // unrounded
  double bound = 0;             // E: what an honest evaluation in the declared format may differ by
  bool exact = false;           // every order of evaluation computes it exactly
  bool no_information = false;  // an overflow within reach, or a branch that rounding could have taken otherwise
  // Class stochastic: the value when the draw goes the other way, and the probability of `value`.
  // Class solve: the residual, and the scale that it is measured by.
  double other = 0;
  double probability = 1;  // solve: the length of the recurrences
  double scale = -1;       // below zero: the reference gave no residual
};

// Class requantise: which code a value gets, and which of two equally near ones.
enum class TieRule { kHalfEven, kHalfAway, kHalfUp, kTowardZero, kDown };

struct OutputRule {
  CompareClass kind = CompareClass::kAccumulate;
  DType dtype = DType::kF32;  // of the output
  DType in = DType::kF32;     // of the arithmetic
  bool flush = false;         // subnormals may become zero
  TieRule round = TieRule::kHalfEven;
  double low = -kUnlimited, high = kUnlimited;  // smallest and largest code
};

// As the contract says, for an output of it.
OutputRule RuleOf(const Contract& contract, const Tensor& tensor);

enum class ElementResult { kRight, kExcluded, kWrong };

struct ElementVerdict {
  ElementResult result = ElementResult::kWrong;
  double error = 0;  // |got - expected|; infinite for a NaN or an infinity where none is due
  double limit = 0;
};

// Distance between neighbouring values of the format around x; 1 for integers.
double StepOf(DType dtype, double x);
// The nearest value of the format, ties to even.
double RoundedTo(DType dtype, double x);
// The next value of the format toward zero; integers and saturated formats keep their ends.
double TruncatedTo(DType dtype, double x);
// What a kernel leaves in the output when it has computed this number.
double StoredAs(const OutputRule& rule, double number);
// The relative error of one rounding; 0 for integers.
double RoundoffOf(DType dtype);

// NaN and infinity are settled before any subtraction; every acceptance is stated positively.
ElementVerdict JudgeElement(const OutputRule& rule, const ExpectedElement& expected, double actual);

// One slice of one output (or several small neighbours, see kSliceElements), as sums over its
// judged elements: what the precision rules need, whatever the slice's size.
class SliceTally {
 public:
  SliceTally(int64_t slice, size_t honest_orders) : slice_(slice), honest_square_(honest_orders, 0.0) {}

  // `honest`: the answers of the honest evaluations, in one order throughout; empty when none were run.
  ElementVerdict Add(const OutputRule& rule, const ExpectedElement& expected, double actual,
                     std::span<const double> honest);
  // Takes over the sums of a neighbour.
  void Join(const SliceTally& other);

  int64_t slice() const { return slice_; }
  int64_t judged() const { return judged_; }
  int64_t excluded() const { return excluded_; }
  // Root mean squares in units of each element's own bound plus half an output step.
  double error_rms() const;
  double bound_rms() const;
  double honest_rms() const;  // of the worst honest order; 0 without any
  double unit() const;        // one rounding of the arithmetic or of the output, of the value itself
  bool has_honest() const { return honest_elements_ > 0; }
  bool asked() const { return asked_; }  // of honest orders too, whether or not anything is left to judge
  // Mean of (got - expected) / step over elements whose own rounding dominates the bound.
  std::optional<double> bias() const;
  // The same with the sign of the value, so that what leans toward zero shows among values of both signs.
  std::optional<double> bias_outward() const;
  double bias_values() const {
    return bias_values_;
  }  // what those elements add up to: tells slices of other data apart

 private:
  int64_t slice_;
  bool asked_ = false;
  int64_t judged_ = 0, excluded_ = 0, honest_elements_ = 0, bias_elements_ = 0;
  double error_square_ = 0, bound_square_ = 0, unit_square_ = 0, bias_sum_ = 0, bias_outward_ = 0, bias_values_ = 0;
  std::vector<double> honest_square_;
};

// Slices smaller than this are judged together with their neighbours: the spread of one or two
// errors says nothing about the precision of the arithmetic behind them.
inline constexpr int64_t kSliceElements = 32;
std::vector<SliceTally> JoinSmallSlices(std::vector<SliceTally> tallies);

struct PrecisionVerdict {
  bool ok = false;
  std::string rule;   // "rms of one slice", "rms of most slices", "bias", "bias toward zero"
  int64_t slice = 0;  // the worst one
  double measured = 0;
  double limit = 0;
  double worst = 0;  // largest measured / limit over all rules
};

// Gathers what several rules measured: all of them must hold, and the one nearest to its limit, or
// farthest beyond it, is told; of equal ones the later.
class WorstRule {
 public:
  WorstRule() { verdict_.ok = true; }
  // A NaN is never at most its limit, so it fails.
  void Take(const char* rule, int64_t slice, double measured, double limit);
  const PrecisionVerdict& verdict() const { return verdict_; }

 private:
  PrecisionVerdict verdict_;
};

// What the values of a call are made of decides what the spread of a few honest orders can tell.
enum class Texture {
  kRandom,      // random mantissas everywhere: rounding errors are draws, and an ensemble shows their size
  kMixed,       // random in most places: the typical slice is as sharp as above
  kStructured,  // equal or ordered values: errors drift, in every order and every slice alike
};

// RMS: of most slices at most twice the worst honest order, of any one at most six times, both plus two
// roundings; over slices: bias below a quarter step, upward and outward.
// Both are silent (ok, worst 0) where they have nothing to judge by.
PrecisionVerdict JudgePrecision(std::span<const SliceTally> slices, Texture texture);

// Share of elements that no one can judge: of everything compared, and of one regime alone.  Logits of
// 1e8 leave some rows of softmax truly undecided, so a single regime may lose more than the whole.
inline constexpr double kExcludedCap = 0.05;
inline constexpr double kExcludedCapOfRegime = 0.25;

}  // namespace assay
