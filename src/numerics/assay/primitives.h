// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a reference is written with, besides operators: primitives whose order of evaluation is
// free, and elementary functions.  A sequence is anything with size() and operator[]: a Row, a
// std::vector<Real>.  A term is a callable that maps an index to a Real.

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "args.h"
#include "functions.h"
#include "softmax.h"

namespace assay {

template <class T>
concept IsReal = std::floating_point<T> || std::derived_from<T, Number<T>>;

namespace internal {

template <class S>
concept Sequence = requires(const S& s, int64_t i) {
  {s.size()};
  requires IsReal<std::remove_cvref_t<decltype(s[static_cast<size_t>(i)])>>;
};

template <class S>
using ElementOf = std::remove_cvref_t<decltype(std::declval<const S&>()[size_t{0}])>;

template <class Term>
using TermOf = std::remove_cvref_t<std::invoke_result_t<const Term&, int64_t>>;

template <class S>
int64_t SizeOf(const S& s) {
  return static_cast<int64_t>(s.size());
}

// Indexing as Row and std::vector both like it.
template <class S>
auto Term(const S& s) {
  using Index = std::conditional_t < std::is_class_v<S>&& requires { s.raw(); }
  , int64_t, size_t > ;
  return [&s](int64_t i) { return s[static_cast<Index>(i)]; };
}

[[noreturn]] ASSAY_COLD inline void FailCount(const char* primitive, int64_t n) {
  FailReference(primitive + (" over " + std::to_string(n)) + " terms");
}
inline int64_t CheckedCount(int64_t n, const char* primitive, bool may_be_empty) {
  if (n < 0 || (n == 0 && !may_be_empty)) FailCount(primitive, n);
  return n;
}

[[noreturn]] ASSAY_COLD inline void FailSizes(int64_t a, int64_t b) {
  FailReference("Dot of rows with " + std::to_string(a) + " and " + std::to_string(b) + " elements");
}
[[noreturn]] ASSAY_COLD inline void FailElement(const char* what, int64_t i, int64_t n) {
  FailReference(what + std::to_string(i) + " of " + std::to_string(n));
}

template <class A, class B>
int64_t SameSize(const A& a, const B& b) {
  if (SizeOf(a) != SizeOf(b)) FailSizes(SizeOf(a), SizeOf(b));
  return SizeOf(a);
}

}  // namespace internal

template <class Term>
requires std::invocable<const Term&, int64_t>
auto Sum(int64_t n, const Term& term) {
  return Ops<internal::TermOf<Term>>::Sum(internal::CheckedCount(n, "Sum", true), term);
}
template <internal::Sequence S>
auto Sum(const S& s) {
  return Sum(internal::SizeOf(s), internal::Term(s));
}

template <class A, class B>
requires std::invocable<const A&, int64_t> && std::invocable<const B&, int64_t>
auto Dot(int64_t n, const A& a, const B& b) {
  return Ops<internal::TermOf<A>>::Dot(internal::CheckedCount(n, "Dot", true), a, b);
}
template <class Real>
Real Dot(const Row<Real>& a, const Row<Real>& b) {
  internal::SameSize(a, b);
  return Ops<Real>::DotRows(a.raw(), b.raw());
}
template <internal::Sequence A, internal::Sequence B>
auto Dot(const A& a, const B& b) {
  return Dot(internal::SameSize(a, b), internal::Term(a), internal::Term(b));
}

template <class Term>
requires std::invocable<const Term&, int64_t>
auto Max(int64_t n, const Term& term) {
  return Ops<internal::TermOf<Term>>::Max(internal::CheckedCount(n, "Max", false), term);
}
template <internal::Sequence S>
auto Max(const S& s) {
  return Max(internal::SizeOf(s), internal::Term(s));
}

// Of equal elements the first.
template <class Term>
requires std::invocable<const Term&, int64_t> Choice ArgMax(int64_t n, const Term& term) {
  return Ops<internal::TermOf<Term>>::ArgMax(internal::CheckedCount(n, "ArgMax", false), term);
}
template <internal::Sequence S>
Choice ArgMax(const S& s) {
  return ArgMax(internal::SizeOf(s), internal::Term(s));
}

template <class Term>
requires std::invocable<const Term&, int64_t>
auto Mean(int64_t n, const Term& term) {
  using Real = internal::TermOf<Term>;
  return Real(Ops<Real>::Sum(internal::CheckedCount(n, "Mean", false), term) / Real(static_cast<double>(n)));
}
template <internal::Sequence S>
auto Mean(const S& s) {
  return Mean(internal::SizeOf(s), internal::Term(s));
}

// Mean and the mean of squared deviations from it.
template <class Real>
struct Moments {
  Real mean{};
  Real variance{};
};
template <class Term>
requires std::invocable<const Term&, int64_t>
auto CentredMoments(int64_t n, const Term& term) {
  using Real = internal::TermOf<Term>;
  Moments<Real> moments;
  Ops<Real>::Centred(internal::CheckedCount(n, "CentredMoments", false), term, moments.mean, moments.variance);
  return moments;
}
template <internal::Sequence S>
auto CentredMoments(const S& s) {
  return CentredMoments(internal::SizeOf(s), internal::Term(s));
}

// Sum of weight_j * value_j over the sum of weights, weight_j = exp(logit_j): attention.
template <class Real>
class SoftmaxMean {
 public:
  // `width` elements per row; `expected` rows, only a hint for memory.
  explicit SoftmaxMean(int64_t width, int64_t expected = 0) : store_(width, expected < 0 ? 0 : expected) {}

  void add(const Real& logit, const Row<Real>& values) { Changed(), store_.Add(logit, values.raw()); }
  void add(const Real& logit, const std::vector<Real>& values) { Changed(), store_.Add(logit, values); }

  Real value(int64_t d) {
    Finish();
    if (d < 0 || d >= store_.width()) internal::FailElement("SoftmaxMean: element ", d, store_.width());
    return values_[static_cast<size_t>(d)];
  }
  Real log_sum_exp() {
    Finish();
    return sums_.log;
  }
  const ExpSum<Real>& sums() {
    Finish();
    return sums_;
  }

 private:
  void Changed() { finished_ = false; }
  void Finish() {
    if (finished_) return;
    internal::CheckedCount(store_.count(), "SoftmaxMean", false);
    Ops<Real>::SoftmaxFinish(store_, values_, sums_);
    finished_ = true;
  }

  SoftmaxStore<Real> store_;
  std::vector<Real> values_;
  ExpSum<Real> sums_;
  bool finished_ = false;
};

// Maximum and sum of exponentials together, for a kernel may find them in one pass: it then scales its
// sum whenever the maximum rises.
template <class Term>
requires std::invocable<const Term&, int64_t>
auto SumExp(int64_t n, const Term& term) {
  using Real = internal::TermOf<Term>;
  SoftmaxMean<Real> mean(0, n);
  const std::vector<Real> none;
  for (int64_t i = 0; i < n; ++i) mean.add(term(i), none);
  return mean.sums();
}
template <internal::Sequence S>
auto SumExp(const S& s) {
  return SumExp(internal::SizeOf(s), internal::Term(s));
}

template <class Term>
requires std::invocable<const Term&, int64_t>
auto LogSumExp(int64_t n, const Term& term) { return SumExp(n, term).log; }
template <internal::Sequence S>
auto LogSumExp(const S& s) {
  return LogSumExp(internal::SizeOf(s), internal::Term(s));
}

template <IsReal Real>
Real Apply(Fn fn, const Real& x) {
  return Ops<Real>::Apply(fn, x);
}

#define ASSAY_FUNCTION(name, kind)        \
  template <IsReal Real>                  \
  Real name(const Real& x) {              \
    return Ops<Real>::Apply(Fn::kind, x); \
  }
ASSAY_FUNCTION(exp, kExp)
ASSAY_FUNCTION(exp2, kExp2)
ASSAY_FUNCTION(expm1, kExpm1)
ASSAY_FUNCTION(log, kLog)
ASSAY_FUNCTION(log2, kLog2)
ASSAY_FUNCTION(log1p, kLog1p)
ASSAY_FUNCTION(sqrt, kSqrt)
ASSAY_FUNCTION(rsqrt, kRsqrt)
ASSAY_FUNCTION(tanh, kTanh)
ASSAY_FUNCTION(erf, kErf)
ASSAY_FUNCTION(sin, kSin)
ASSAY_FUNCTION(cos, kCos)
#undef ASSAY_FUNCTION

template <IsReal Real>
Real abs(const Real& x) {
  return Ops<Real>::Abs(x);
}
template <IsReal Real>
Real min(const Real& a, const std::type_identity_t<Real>& b) {
  return Ops<Real>::Smaller(a, b);
}
template <IsReal Real>
Real max(const Real& a, const std::type_identity_t<Real>& b) {
  return Ops<Real>::Larger(a, b);
}
template <IsReal Real>
Real floor(const Real& x) {
  return Ops<Real>::ToInteger([](double v) { return std::floor(v); }, x);
}
template <IsReal Real>
Real ceil(const Real& x) {
  return Ops<Real>::ToInteger([](double v) { return std::ceil(v); }, x);
}
// To the nearest integer, ties to even.
template <IsReal Real>
Real nearbyint(const Real& x) {
  return Ops<Real>::ToInteger([](double v) { return std::nearbyint(v); }, x);
}

// Root of the sum of squares.
template <internal::Sequence S>
auto Norm(const S& s) {
  return sqrt(Dot(s, s));
}

// x rounded to a narrower format, ties to even; integers saturate.
template <DType kFormat, IsReal Real>
Real Cast(const Real& x) {
  return Ops<Real>::Cast(kFormat, x);
}

// One of two values.  With a comparison as condition, a decision that rounding could turn widens the
// answer instead of spoiling it, so piecewise continuous functions stay judged at their seams.
template <class Condition, IsReal Real>
Real Select(const Condition& condition, const Real& a, const std::type_identity_t<Real>& b) {
  return Ops<Real>::Select(condition, a, b);
}

// Entry `index` of a table.
template <internal::Sequence S>
auto Lookup(const S& table, int64_t index) {
  if (index < 0 || index >= internal::SizeOf(table))
    internal::FailElement("Lookup: entry ", index, internal::SizeOf(table));
  return internal::Term(table)(index);
}

}  // namespace assay
