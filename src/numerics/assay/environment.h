// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one run of a reference is told: the declared format, the regime, the order, the mutant.
// Operators of a number type have no argument to carry this, hence one variable.  The oracle is
// single-threaded; two cores are used by two processes.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "formats.h"

namespace assay {

enum class Regime : uint8_t { kStructured, kRandom };
enum class Order : uint8_t { kInOrder, kPairwise, kLanes16, kBlocks64 };
// kCorrect: correctly rounded.  kLoose: off by what the bound allows (4 u, and an argument that
// was rounded).  kExp2: exponentials through base two with the scale folded in.
enum class Elementary : uint8_t { kCorrect, kLoose, kExp2 };

enum class MutantKind : uint8_t {
  kNone,
  kNarrowOperand,      // elements of one tensor rounded to `format` as they are read
  kNarrowOperandPair,  // the same as a sum of two narrow numbers (bf16 x 2)
  kNarrowAccumulator,  // partial sums of one primitive kept in `format`
  kNarrowElementary,   // results of exp, sqrt, ... rounded to `format`
  kRoughElementary,    // results of exp, sqrt, ... off by the relative `amount`
  kNarrowOutput,       // outputs rounded to `format`
  kTruncate,           // every operation rounds toward zero
  kBiasOutput,         // outputs multiplied by 1 + amount
  kOnePassMoments,     // variance as mean of squares minus square of the mean
  kDropLast,           // the last term of one primitive is left out
  kDropHead,           // the first term
  kDropBlock,          // one eighth of the terms, in the middle
  kDropTail,           // the last eighth
  kShift,              // one tensor read one element further along each row
};
inline constexpr int kMutantKindCount = 15;

enum class Primitive : uint8_t { kAny, kSum, kDot, kMax, kMoments, kSoftmax };
inline constexpr int kPrimitiveCount = 6;

struct Mutant {
  MutantKind kind = MutantKind::kNone;
  Primitive primitive = Primitive::kAny;  // which sums are narrowed or cut
  DType format = DType::kBf16;
  int tensor = -1;  // which operand; -1 is every one
  double amount = 0.0;
};

struct Tape;
struct Counters;

// Memory that is reused from one primitive to the next.  Owned by whoever runs the reference and not
// a static variable: a destructor of one would need start-up code, which the oracle is linked without.
struct Workspace {
  std::vector<double> left, right;  // decoded rows
  std::vector<double> weights, relative, sum, magnitude, spread;
};

struct Environment {
  DType format = DType::kF32;
  double u = 0x1p-24;      // unit roundoff of the format
  double eta = 0x1p-150;   // absolute error of a product that falls below the normal range
  double reach = 0x1p127;  // above this an overflow depends on the order of evaluation
  int precision = 24;
  double exact_integer = 0x1p24;  // integers up to here convert without rounding
  bool random = false;            // mantissas are random: rounding errors do not conspire
  double outputs = 1.0;           // how many elements the chance of a false alarm is shared by
  double growth_terms = -1.0;     // cache of Growth
  double growth = 0.0;

  Order order = Order::kInOrder;
  bool fma = false;
  Elementary elementary = Elementary::kCorrect;
  double perturb = 0.0;  // times the legal rounding, drawn at random at every operation
  uint64_t noise = 0x9E3779B97F4A7C15U;
  Mutant mutant;
  bool plain_single = false;  // f32, no mutant, no perturbation: the common case of an honest run

  bool ambiguous = false;  // a branch was taken on a comparison within its own error
  uint64_t ambiguous_comparisons = 0;
  Workspace* workspace = nullptr;
  Tape* tape = nullptr;
  Counters* counters = nullptr;
};

// Hidden, so that access needs no indirection inside a shared object.
[[gnu::visibility("hidden")]] inline constinit Environment environment;

// Failure probability of the probabilistic sums, over all elements of one comparison together.
inline constexpr double kFalseAlarm = 1e-6;

// Resets everything but the workspace, then sets what follows from the format.  `flush`: subnormals
// may become zero.
inline void SetFormat(Environment& env, DType format, bool flush) {
  Workspace* const workspace = env.workspace;
  env = Environment{};
  env.workspace = workspace;
  env.format = format;
  env.u = UnitRoundoff(format);
  env.eta = flush ? SmallestNormal(format) : SmallestSubnormal(format) * 0.5;
  if (env.eta == 0.0) env.eta = std::numeric_limits<double>::denorm_min();
  env.reach = Traits(format).max * 0.5;
  env.precision = Traits(format).precision;
  env.exact_integer = PowerOfTwo(env.precision);
}

// Factor c(K) of u * sum|terms| for a sum with K roundings whose order is free: K where rounding
// errors may conspire, min(K, lambda sqrt(K)) where they are as good as independent.
inline double Growth(double roundings) {
  Environment& env = environment;
  if (!env.random || roundings <= 1.0) return roundings;
  if (roundings == env.growth_terms) return env.growth;
  const double lambda = std::sqrt(2.0 * std::log(2.0 * env.outputs * roundings / kFalseAlarm));
  env.growth_terms = roundings;
  env.growth = std::fmin(roundings, lambda * std::sqrt(roundings));
  return env.growth;
}

// Marks every output that is written from here on in this slice.
inline void TakeAmbiguousBranch() {
  environment.ambiguous = true;
  ++environment.ambiguous_comparisons;
}

// A comparison that knows whether rounding could have decided it otherwise.  Used as a condition
// it taints what follows; handed to Select it only widens the result.
struct Truth {
  bool value = false;
  bool ambiguous = false;
  explicit operator bool() const {
    if (ambiguous) TakeAmbiguousBranch();
    return value;
  }
  Truth operator!() const { return {!value, ambiguous}; }
};

// The index of a largest element, which rounding may have chosen.  As a number it taints what follows,
// like a branch; written to an output it marks that element alone.
struct Choice {
  int64_t index = 0;
  bool ambiguous = false;
  operator int64_t() const {  // NOLINT(google-explicit-constructor)
    if (ambiguous) TakeAmbiguousBranch();
    return index;
  }
};

// The operators of every number type, in terms of six static functions of it.
template <class X>
struct Number {
  friend X operator+(const X& a, const X& b) { return X::Add(a, b); }
  friend X operator-(const X& a, const X& b) { return X::Subtract(a, b); }
  friend X operator*(const X& a, const X& b) { return X::Multiply(a, b); }
  friend X operator/(const X& a, const X& b) { return X::Divide(a, b); }
  friend X operator-(const X& a) { return X::Negate(a); }
  friend X operator+(const X& a) { return a; }
  friend X& operator+=(X& a, const X& b) { return a = X::Add(a, b); }
  friend X& operator-=(X& a, const X& b) { return a = X::Subtract(a, b); }
  friend X& operator*=(X& a, const X& b) { return a = X::Multiply(a, b); }
  friend X& operator/=(X& a, const X& b) { return a = X::Divide(a, b); }
  friend auto operator<(const X& a, const X& b) { return X::Less(a, b); }
  friend auto operator>(const X& a, const X& b) { return X::Less(b, a); }
  friend auto operator<=(const X& a, const X& b) { return !X::Less(b, a); }
  friend auto operator>=(const X& a, const X& b) { return !X::Less(a, b); }
  friend auto operator==(const X& a, const X& b) { return X::Equal(a, b); }
  friend auto operator!=(const X& a, const X& b) { return !X::Equal(a, b); }
};

}  // namespace assay
