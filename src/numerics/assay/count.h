// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations by kind and the elements that were read: what a contract's [cost] is held against.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "args.h"
#include "functions.h"
#include "softmax.h"

namespace assay {

// Functions follow from kFunction on, in the order of Fn.
enum class Operation : uint8_t {
  kAdd,
  kMultiply,
  kDivide,
  kCompare,
  kConvert,
  kIntegerAdd,
  kIntegerMultiply,
  kFunction
};
inline constexpr int kOperationCount = static_cast<int>(Operation::kFunction) + kFnCount;

struct Counters {
  uint64_t counts[kOperationCount] = {};
  Sink* sink = nullptr;
};

struct Counted : Number<Counted> {
  double value = 0.0;
  bool integer = true;

  Counted() = default;
  Counted(double constant) : value(constant), integer(std::trunc(constant) == constant) {}  // NOLINT
  Counted(double v, bool is_integer) : value(v), integer(is_integer) {}

  static void Tally(Operation operation, int64_t times = 1) {
    environment.counters->counts[static_cast<size_t>(operation)] += static_cast<uint64_t>(times);
  }
  static Counted Add(const Counted& a, const Counted& b) {
    const bool integer = a.integer && b.integer;
    Tally(integer ? Operation::kIntegerAdd : Operation::kAdd);
    return {a.value + b.value, integer};
  }
  static Counted Subtract(const Counted& a, const Counted& b) { return Add(a, Negate(b)); }
  static Counted Multiply(const Counted& a, const Counted& b) {
    const bool integer = a.integer && b.integer;
    Tally(integer ? Operation::kIntegerMultiply : Operation::kMultiply);
    return {a.value * b.value, integer};
  }
  static Counted Divide(const Counted& a, const Counted& b) {
    Tally(Operation::kDivide);
    return {a.value / b.value, false};
  }
  // A sign costs nothing.
  static Counted Negate(const Counted& a) { return {-a.value, a.integer}; }
  static bool Less(const Counted& a, const Counted& b) {
    Tally(Operation::kCompare);
    return a.value < b.value;
  }
  static bool Equal(const Counted& a, const Counted& b) {
    Tally(Operation::kCompare);
    return a.value == b.value;
  }
};

template <>
struct Ops<Counted> {
  static Counted Leaf(double value, bool integer) { return {value, integer}; }
  static Counted Element(const RawRow& row, int64_t i) {
    environment.counters->sink->Touch(row.tensor, row.offset + i * row.stride);
    return {row.Load(i), !IsFloating(row.dtype)};
  }
  static Counted Apply(Fn fn, const Counted& x) {
    ++environment.counters->counts[static_cast<size_t>(Operation::kFunction) + static_cast<size_t>(fn)];
    return {Evaluate(fn, x.value), false};
  }
  static Counted Abs(const Counted& x) { return {std::fabs(x.value), x.integer}; }
  static Counted Smaller(const Counted& a, const Counted& b) { return Counted::Less(b, a) ? b : a; }
  static Counted Larger(const Counted& a, const Counted& b) { return Counted::Less(a, b) ? b : a; }
  static Counted Cast(DType format, const Counted& x) {
    Counted::Tally(Operation::kConvert);
    return {RoundTo(format, x.value), !IsFloating(format)};
  }
  static Counted ToInteger(double (*round)(double), const Counted& x) {
    Counted::Tally(Operation::kConvert);
    return {round(x.value), false};
  }
  static Counted Select(bool condition, const Counted& a, const Counted& b) { return condition ? a : b; }

  // A sum that starts from nothing has one addition less than terms.
  template <class Term>
  static Counted Sum(int64_t n, Term&& term) {
    Counted sum = n > 0 ? Counted(term(0)) : Counted(0.0);
    for (int64_t i = 1; i < n; ++i) sum = Counted::Add(sum, term(i));
    return sum;
  }
  // As multiply-adds, the first onto zero: 2 n operations, as everyone counts a dot product.
  template <class A, class B>
  static Counted Dot(int64_t n, const A& a, const B& b) {
    Counted sum(0.0, true);
    for (int64_t i = 0; i < n; ++i) sum = Counted::Add(Counted::Multiply(a(i), b(i)), sum);
    return sum;
  }
  static Counted DotRows(const RawRow& a, const RawRow& b) {
    return Dot(
        a.count, [&](int64_t i) { return Element(a, i); }, [&](int64_t i) { return Element(b, i); });
  }
  template <class Term>
  static Counted Max(int64_t n, Term&& term) {
    Counted best = term(0);
    for (int64_t i = 1; i < n; ++i) best = Larger(best, term(i));
    return best;
  }
  template <class Term>
  static Choice ArgMax(int64_t n, Term&& term) {
    int64_t best = 0;
    Counted top = term(0);
    for (int64_t i = 1; i < n; ++i) {
      const Counted x = term(i);
      if (!Counted::Less(top, x)) continue;
      top = x;
      best = i;
    }
    return {best, false};
  }
  template <class Term>
  static void Centred(int64_t n, Term&& term, Counted& mean, Counted& variance) {
    const Counted count(static_cast<double>(n), false);
    mean = Counted::Divide(Sum(n, term), count);
    Counted squares(0.0, false);
    for (int64_t i = 0; i < n; ++i) {
      const Counted d = Counted::Subtract(term(i), mean);
      squares = Counted::Add(squares, Counted::Multiply(d, d));
    }
    variance = Counted::Divide(squares, count);
  }

  static void SoftmaxFinish(const SoftmaxStore<Counted>& store, std::vector<Counted>& values, ExpSum<Counted>& sum) {
    const Counted top = Max(store.count(), [&](int64_t j) { return store.logit(j); });
    Counted total(0.0, false);
    values.assign(static_cast<size_t>(store.width()), Counted(0.0, false));
    for (int64_t j = 0; j < store.count(); ++j) {
      const Counted weight = Apply(Fn::kExp, Counted::Subtract(store.logit(j), top));
      total = Counted::Add(total, weight);
      for (int64_t d = 0; d < store.width(); ++d) {
        Counted& value = values[static_cast<size_t>(d)];
        value = Counted::Add(value, Counted::Multiply(weight, store.value(j, d)));
      }
    }
    for (Counted& value : values) value = Counted::Divide(value, total);
    // Asked for or not, so that the count of a contract with an optional output is an upper one.
    sum = {top, total, Counted::Add(top, Apply(Fn::kLog, total))};
  }
  static Answer Report(const Counted& x, int, int64_t) { return {x.value, 0.0, 0}; }
};

}  // namespace assay
