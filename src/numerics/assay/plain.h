// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arithmetics that yield the answer itself: double, and long double where that is too coarse.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <vector>

#include "args.h"
#include "functions.h"
#include "simd.h"
#include "softmax.h"

namespace assay {

template <std::floating_point Real>
struct Ops<Real> {
  static Real Leaf(double value, bool) { return value; }
  static Real Element(const RawRow& row, int64_t i) { return row.Load(i); }
  static Real Apply(Fn fn, Real x) { return Evaluate<Real>(fn, x); }
  static Real Abs(Real x) { return std::fabs(x); }
  static Real Smaller(Real a, Real b) { return b < a ? b : a; }
  static Real Larger(Real a, Real b) { return a < b ? b : a; }
  static Real Cast(DType format, Real x) { return static_cast<Real>(RoundTo(format, static_cast<double>(x))); }
  static Real ToInteger(double (*round)(double), Real x) { return static_cast<Real>(round(static_cast<double>(x))); }
  static Real Select(bool condition, Real a, Real b) { return condition ? a : b; }

  template <class Term>
  static Real Sum(int64_t n, Term&& term) {
    Real sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += term(i);
    return sum;
  }

  template <class A, class B>
  static Real Dot(int64_t n, const A& a, const B& b) {
    Real sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a(i) * b(i);
    return sum;
  }

  static Real DotRows(const RawRow& a, const RawRow& b) {
    if constexpr (std::is_same_v<Real, double>) return simd::DotRows(a, b).sum;
    Real sum = 0;
    for (int64_t i = 0; i < a.count; ++i) sum += static_cast<Real>(a.Load(i)) * static_cast<Real>(b.Load(i));
    return sum;
  }

  template <class Term>
  static Real Max(int64_t n, Term&& term) {
    Real best = -std::numeric_limits<Real>::infinity();
    for (int64_t i = 0; i < n; ++i) {
      const Real x = term(i);
      if (std::isnan(x)) return x;
      if (x > best) best = x;
    }
    return best;
  }

  template <class Term>
  static Choice ArgMax(int64_t n, Term&& term) {
    int64_t best = 0;
    Real top = -std::numeric_limits<Real>::infinity();
    for (int64_t i = 0; i < n; ++i) {
      const Real x = term(i);
      if (x > top) {
        top = x;
        best = i;
      }
    }
    return {best, false};
  }

  template <class Term>
  static void Centred(int64_t n, Term&& term, Real& mean, Real& variance) {
    mean = Sum(n, term) / static_cast<Real>(n);
    variance = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Real x = term(i) - mean;
      variance += x * x;
    }
    variance /= static_cast<Real>(n);
  }

  static void SoftmaxFinish(const SoftmaxStore<Real>& store, std::vector<Real>& values, ExpSum<Real>& sum) {
    const int64_t count = store.count(), width = store.width();
    const Real top = Max(count, [&](int64_t j) { return store.logit(j); });
    Real total = 0;
    values.assign(static_cast<size_t>(width), Real{0});
    for (int64_t j = 0; j < count; ++j) {
      const Real weight = std::exp(store.logit(j) - top);
      total += weight;
      // A weight of zero (a logit of minus infinity) hides its row, whatever stands in it.
      if (weight == 0 || width == 0) continue;
      if constexpr (std::is_same_v<Real, double>) {
        if (store.raw()) {
          simd::WithElements(store.row(j),
                             [&](const auto* row) { simd::AddScaled(weight, row, width, values.data(), nullptr); });
          continue;
        }
      }
      for (int64_t d = 0; d < width; ++d) values[static_cast<size_t>(d)] += weight * store.value(j, d);
    }
    for (Real& value : values) value /= total;
    sum = {top, total, top + std::log(total)};
  }

  static Answer Report(Real x, int, int64_t) { return {static_cast<double>(x), 0.0, 0}; }
};

}  // namespace assay
