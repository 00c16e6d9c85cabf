// SPDX-License-Identifier: Apache-2.0
#pragma once

// Proves, where it can, that an output has the same bits in every order of evaluation: all terms
// are multiples of one quantum 2^q, and the multiples add up to no more than the format's
// significand holds, so no partial sum is ever rounded (DESIGN: class exact).

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "args.h"
#include "functions.h"
#include "softmax.h"

namespace assay {

struct Exact : Number<Exact> {
  static constexpr int kZeroQuantum = 1 << 20;  // zero is a multiple of everything

  double value = 0.0;
  double magnitude = 0.0;  // of all terms that went in, so that regrouping them is covered too
  int quantum = kZeroQuantum;
  bool exact = true;
  bool integer = true;  // in integer arithmetic so far

  Exact() = default;
  Exact(double constant)
      : Exact(Leaf(constant, std::trunc(constant) == constant && std::fabs(constant) < 0x1p31)) {}  // NOLINT

  static Exact Leaf(double v, bool is_integer) {
    Exact x;
    x.value = v;
    x.magnitude = std::fabs(v);
    x.integer = is_integer;
    x.exact = std::isfinite(v);
    if (x.exact && v != 0.0) x.quantum = LowestBit(v);
    if (!is_integer) x.exact = x.exact && x.Fits();
    return x;
  }

  // Exponent of the lowest bit that is set.
  static int LowestBit(double v) {
    const uint64_t bits = std::bit_cast<uint64_t>(v);
    const int field = static_cast<int>((bits >> 52) & 0x7FFU);
    const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
    const uint64_t significand = field == 0 ? fraction : fraction | (uint64_t{1} << 52);
    return (field == 0 ? 1 : field) - 1075 + std::countr_zero(significand);
  }

  // Partial sums below the normal range would still be exact, but a machine that flushes loses them.
  bool Fits() const {
    if (magnitude == 0.0) return true;
    const FormatTraits& format = Traits(environment.format);
    if (quantum < format.min_exponent || !(magnitude <= format.max)) return false;
    return magnitude <= std::ldexp(1.0, std::min(quantum + format.precision, 1023));
  }
  static Exact Inexact(double v) {
    Exact x;
    x.value = v;
    x.exact = false;
    x.integer = false;
    return x;
  }
  // An exact integer starts anew as a floating-point number.
  Exact AsNumber() const { return integer ? (exact ? Leaf(value, false) : Inexact(value)) : *this; }

  static Exact Combine(double v, double m, int q, const Exact& a, const Exact& b) {
    Exact x;
    x.value = v;
    x.magnitude = m;
    x.quantum = q;
    x.integer = a.integer && b.integer;
    x.exact = a.exact && b.exact && (x.integer ? m < 0x1p31 : x.Fits());
    return x;
  }
  static Exact Add(const Exact& a, const Exact& b) {
    if (a.integer != b.integer) return Add(a.AsNumber(), b.AsNumber());
    return Combine(a.value + b.value, a.magnitude + b.magnitude, std::min(a.quantum, b.quantum), a, b);
  }
  static Exact Subtract(const Exact& a, const Exact& b) { return Add(a, Negate(b)); }
  static Exact Multiply(const Exact& a, const Exact& b) {
    if (a.integer != b.integer) return Multiply(a.AsNumber(), b.AsNumber());
    const bool zero = a.quantum == kZeroQuantum || b.quantum == kZeroQuantum;
    return Combine(a.value * b.value, a.magnitude * b.magnitude, zero ? kZeroQuantum : a.quantum + b.quantum, a, b);
  }
  // Only by a power of two.
  static Exact Divide(const Exact& left, const Exact& right) {
    const Exact a = left.AsNumber(), b = right.AsNumber();
    int exponent = 0;
    if (!a.exact || !b.exact || std::fabs(std::frexp(b.value, &exponent)) != 0.5) return Inexact(a.value / b.value);
    return Multiply(a, Leaf(1.0 / b.value, false));
  }
  static Exact Negate(Exact a) {
    a.value = -a.value;
    return a;
  }
  static Truth Less(const Exact& a, const Exact& b) { return {a.value < b.value, !(a.exact && b.exact)}; }
  static Truth Equal(const Exact& a, const Exact& b) { return {a.value == b.value, !(a.exact && b.exact)}; }
};

template <>
struct Ops<Exact> {
  static Exact Leaf(double value, bool integer) { return Exact::Leaf(value, integer); }
  static Exact Element(const RawRow& row, int64_t i) { return Exact::Leaf(row.Load(i), !IsFloating(row.dtype)); }
  static Exact Apply(Fn fn, const Exact& x) { return Exact::Inexact(Evaluate(fn, x.value)); }
  static Exact Abs(Exact x) {
    x.value = std::fabs(x.value);
    return x;
  }
  static Exact Smaller(const Exact& a, const Exact& b) { return Picked(b.value < a.value ? b : a, a, b); }
  static Exact Larger(const Exact& a, const Exact& b) { return Picked(a.value < b.value ? b : a, a, b); }
  static Exact Picked(Exact x, const Exact& a, const Exact& b) {
    x.exact = a.exact && b.exact;
    return x;
  }
  static Exact Cast(DType format, const Exact& x) {
    const double v = RoundTo(format, x.value);
    return x.exact ? Exact::Leaf(v, !IsFloating(format)) : Exact::Inexact(v);
  }
  static Exact ToInteger(double (*round)(double), const Exact& x) {
    const double v = round(x.value);
    return x.exact ? Exact::Leaf(v, x.integer) : Exact::Inexact(v);
  }
  static Exact Select(bool condition, const Exact& a, const Exact& b) { return condition ? a : b; }
  static Exact Select(Truth condition, const Exact& a, const Exact& b) {
    const Exact& chosen = condition.value ? a : b;
    return condition.ambiguous ? Exact::Inexact(chosen.value) : chosen;
  }

  template <class Term>
  static Exact Sum(int64_t n, Term&& term) {
    Exact sum;
    for (int64_t i = 0; i < n; ++i) sum = Exact::Add(sum, term(i));
    return sum;
  }
  template <class A, class B>
  static Exact Dot(int64_t n, const A& a, const B& b) {
    Exact sum;
    for (int64_t i = 0; i < n; ++i) sum = Exact::Add(sum, Exact::Multiply(a(i), b(i)));
    return sum;
  }
  static Exact DotRows(const RawRow& a, const RawRow& b) {
    return Dot(
        a.count, [&](int64_t i) { return Element(a, i); }, [&](int64_t i) { return Element(b, i); });
  }

  template <class Term>
  static Exact Max(int64_t n, Term&& term) {
    Exact best = Exact::Leaf(term(0).value, false);
    bool exact = true;
    for (int64_t i = 0; i < n; ++i) {
      const Exact x = term(i);
      exact = exact && x.exact;
      if (i == 0 || x.value > best.value) best = x;
    }
    best.exact = exact;
    return best;
  }
  template <class Term>
  static Choice ArgMax(int64_t n, Term&& term) {
    int64_t best = 0;
    double top = -std::numeric_limits<double>::infinity();
    bool exact = true;
    for (int64_t i = 0; i < n; ++i) {
      const Exact x = term(i);
      exact = exact && x.exact;
      if (x.value > top) {
        top = x.value;
        best = i;
      }
    }
    return {best, !exact};
  }

  template <class Term>
  static void Centred(int64_t n, Term&& term, Exact& mean, Exact& variance) {
    mean = Exact::Divide(Sum(n, term), Exact(static_cast<double>(n)));
    double squares = 0.0;
    bool one_value = true;
    for (int64_t i = 0; i < n; ++i) {
      const double d = term(i).value - mean.value;
      squares += d * d;
      one_value = one_value && term(i).value == mean.value;
    }
    // A running mean takes steps of its own where any term differs, however exact the sum is.
    if (!one_value) mean = Exact::Inexact(mean.value);
    variance = Exact::Inexact(squares / static_cast<double>(n));
  }

  // Weights are never exact, except that a single key has the weight one in all orders but not in
  // all forms: exp2 with the scale folded in leaves a residue.
  static void SoftmaxFinish(const SoftmaxStore<Exact>& store, std::vector<Exact>& values, ExpSum<Exact>& sum) {
    double top = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (int64_t j = 0; j < store.count(); ++j) top = std::fmax(top, store.logit(j).value);
    std::vector<double> sums(static_cast<size_t>(store.width()));
    for (int64_t j = 0; j < store.count(); ++j) {
      const double weight = std::exp(store.logit(j).value - top);
      total += weight;
      for (int64_t d = 0; d < store.width() && weight > 0.0; ++d)
        sums[static_cast<size_t>(d)] += weight * store.value(j, d).value;
    }
    values.clear();
    for (const double value : sums) values.push_back(Exact::Inexact(value / total));
    sum = {Max(store.count(), [&](int64_t j) { return store.logit(j); }), Exact::Inexact(total),
           Exact::Inexact(top + std::log(total))};
  }

  static Answer Report(const Exact& x, int, int64_t) {
    return {x.value, 0.0, x.exact && x.AsNumber().exact && !environment.ambiguous ? kAnswerExact : 0U};
  }
};

}  // namespace assay
