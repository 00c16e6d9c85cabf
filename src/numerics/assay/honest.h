// SPDX-License-Identifier: Apache-2.0
#pragma once

// An honest kernel: every operation rounded to the declared format, sums in one of several orders.
// The same type is the generated mutants, which do one thing that no honest kernel does, and the
// perturbed runs, in which every rounding is drawn at random from what is legal.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "args.h"
#include "functions.h"
#include "softmax.h"

namespace assay {

namespace internal {

// In [-1, 1], another one each time.
inline double Noise() {
  uint64_t& state = environment.noise;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<double>(static_cast<int64_t>(state)) * 0x1p-63;
}

// In [-1, 1], always the same one for x, so that a function remains a function.
inline double HashOf(double x) {
  uint64_t h = std::bit_cast<uint64_t>(x) * 0x9E3779B97F4A7C15U;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9U;
  h ^= h >> 32;
  return static_cast<double>(static_cast<int64_t>(h << 11)) * 0x1p-63;
}

inline bool MutatesTensor(int tensor) { return environment.mutant.tensor < 0 || environment.mutant.tensor == tensor; }

inline bool MutatesPrimitive(Primitive primitive) {
  return environment.mutant.primitive == Primitive::kAny || environment.mutant.primitive == primitive;
}

// Whether the mutant leaves term i of n out.
inline bool Dropped(Primitive primitive, int64_t i, int64_t n) {
  const MutantKind kind = environment.mutant.kind;
  if (environment.plain_single || kind < MutantKind::kDropLast || kind > MutantKind::kDropTail ||
      !MutatesPrimitive(primitive))
    return false;
  const int64_t block = std::max<int64_t>(n / 8, 1);
  switch (kind) {
    case MutantKind::kDropLast:
      return i == n - 1;
    case MutantKind::kDropHead:
      return i == 0;
    case MutantKind::kDropBlock:
      return i >= n / 2 && i < n / 2 + block;
    default:
      return i >= n - block;
  }
}

// One operation's rounding.
[[gnu::noinline]] inline double RoundUnusually(double v) {
  const Environment& env = environment;
  if (env.perturb > 0.0) return v + Noise() * env.perturb * env.u * std::fabs(v);
  if (env.mutant.kind == MutantKind::kTruncate) return RoundTo(env.format, v, Rounding::kTowardZero);
  if (env.format == DType::kF32) return static_cast<double>(static_cast<float>(v));
  return env.format == DType::kF64 ? v : RoundTo(env.format, v);
}

inline double RoundOperation(double v) {
  return environment.plain_single ? static_cast<double>(static_cast<float>(v)) : RoundUnusually(v);
}

inline double RoundPartialSum(double v, Primitive primitive) {
  if (!environment.plain_single && environment.mutant.kind == MutantKind::kNarrowAccumulator &&
      MutatesPrimitive(primitive)) {
    return RoundTo(environment.mutant.format, v);
  }
  return RoundOperation(v);
}

inline double MultiplyAdd(double x, double y, double sum, Primitive primitive) {
  if (!environment.fma) return RoundPartialSum(sum + RoundOperation(x * y), primitive);
  // In double the product of two narrower numbers is exact.
  return RoundPartialSum(environment.format == DType::kF64 ? std::fma(x, y, sum) : x * y + sum, primitive);
}

inline double HonestFunction(Fn fn, double x) {
  const Environment& env = environment;
  double argument = x, factor = 1.0;
  if (env.perturb > 0.0) {
    argument *= 1.0 + 2.0 * env.u * env.perturb * Noise();
    return Evaluate(fn, argument) * (1.0 + 4.0 * env.u * env.perturb * Noise());
  }
  if (env.elementary == Elementary::kLoose) {
    // Just inside the allowance of 4 u and 2 u of the argument; the rounding below takes one u.
    argument *= 1.0 + std::copysign(1.9 * env.u, HashOf(x));
    factor += std::copysign(2.9 * env.u, HashOf(x + 1.0));
  }
  double fx = env.elementary == Elementary::kExp2 && fn == Fn::kExp ? std::exp2(RoundOperation(x / kLn2))
                                                                    : Evaluate(fn, argument) * factor;
  if (env.mutant.kind == MutantKind::kNarrowElementary) fx = RoundTo(env.mutant.format, fx);
  if (env.mutant.kind == MutantKind::kRoughElementary) fx *= 1.0 + env.mutant.amount * HashOf(x);
  return RoundOperation(fx);
}

// Folds terms 0..n-1 into one number by step(partial, i), in the order that the run asks for.
template <class Step>
double FoldRange(int64_t begin, int64_t end, int64_t n, Primitive primitive, const Step& step) {
  double sum = 0.0;
  for (int64_t i = begin; i < end; ++i) {
    if (!Dropped(primitive, i, n)) sum = step(sum, i);
  }
  return sum;
}

template <class Step>
double FoldPairwise(int64_t begin, int64_t end, int64_t n, Primitive primitive, const Step& step) {
  if (end - begin <= 8) return FoldRange(begin, end, n, primitive, step);
  const int64_t middle = begin + (end - begin) / 2;
  return RoundPartialSum(
      FoldPairwise(begin, middle, n, primitive, step) + FoldPairwise(middle, end, n, primitive, step), primitive);
}

template <class Step>
double Fold(int64_t n, Primitive primitive, const Step& step) {
  switch (environment.order) {
    case Order::kInOrder:
      return FoldRange(0, n, n, primitive, step);
    case Order::kPairwise:
      return FoldPairwise(0, n, n, primitive, step);
    case Order::kLanes16: {
      std::array<double, 16> lanes{};
      for (int64_t i = 0; i < n; ++i) {
        double& lane = lanes[static_cast<size_t>(i % 16)];
        if (!Dropped(primitive, i, n)) lane = step(lane, i);
      }
      for (size_t half = 8; half > 0; half /= 2) {
        for (size_t l = 0; l < half; ++l) lanes[l] = RoundPartialSum(lanes[l] + lanes[l + half], primitive);
      }
      return lanes[0];
    }
    case Order::kBlocks64: {
      double sum = 0.0;
      for (int64_t begin = 0; begin < n; begin += 64) {
        const double block = FoldRange(begin, std::min(begin + 64, n), n, primitive, step);
        sum = RoundPartialSum(sum + block, primitive);
      }
      return sum;
    }
  }
  return 0.0;
}

}  // namespace internal

struct Honest : Number<Honest> {
  double value = 0.0;
  bool integer = true;  // computed in integer arithmetic so far

  Honest() = default;
  Honest(double constant)
      : value(constant), integer(std::trunc(constant) == constant && std::fabs(constant) < 0x1p31) {  // NOLINT
    if (!integer) value = internal::RoundOperation(constant);
  }
  Honest(double v, bool is_integer) : value(v), integer(is_integer) {}

  double AsNumber() const {
    return integer && std::fabs(value) > environment.exact_integer ? internal::RoundOperation(value) : value;
  }
  static Honest Rounded(double v) { return {internal::RoundOperation(v), false}; }

  static Honest Add(const Honest& a, const Honest& b) {
    return a.integer && b.integer ? Honest(a.value + b.value, true) : Rounded(a.AsNumber() + b.AsNumber());
  }
  static Honest Subtract(const Honest& a, const Honest& b) { return Add(a, Negate(b)); }
  static Honest Multiply(const Honest& a, const Honest& b) {
    return a.integer && b.integer ? Honest(a.value * b.value, true) : Rounded(a.AsNumber() * b.AsNumber());
  }
  static Honest Divide(const Honest& a, const Honest& b) {
    if (!environment.fma) return Rounded(a.AsNumber() / b.AsNumber());
    return Rounded(a.AsNumber() * internal::RoundOperation(1.0 / b.AsNumber()));
  }
  static Honest Negate(const Honest& a) { return {-a.value, a.integer}; }
  static bool Less(const Honest& a, const Honest& b) { return a.value < b.value; }
  static bool Equal(const Honest& a, const Honest& b) { return a.value == b.value; }
};

template <>
struct Ops<Honest> {
  static Honest Leaf(double value, bool integer) { return integer ? Honest(value, true) : Honest::Rounded(value); }

  static Honest Element(const RawRow& row, int64_t i) {
    if (environment.plain_single && row.dtype == DType::kF32) return {row.Load(i), false};
    const Mutant& mutant = environment.mutant;
    if (mutant.kind == MutantKind::kShift && internal::MutatesTensor(row.tensor)) i = (i + 1) % row.count;
    const double v = row.Load(i);
    if (!IsFloating(row.dtype)) return {v, true};
    if (mutant.kind == MutantKind::kNarrowOperand && internal::MutatesTensor(row.tensor))
      return {RoundTo(mutant.format, v), false};
    if (mutant.kind == MutantKind::kNarrowOperandPair && internal::MutatesTensor(row.tensor)) {
      const double head = RoundTo(mutant.format, v);
      return {head + RoundTo(mutant.format, v - head), false};
    }
    return {environment.perturb > 0.0 ? v : internal::RoundOperation(v), false};
  }

  static Honest Apply(Fn fn, const Honest& x) { return {internal::HonestFunction(fn, x.AsNumber()), false}; }
  static Honest Abs(const Honest& x) { return {std::fabs(x.value), x.integer}; }
  static Honest Smaller(const Honest& a, const Honest& b) { return b.value < a.value ? b : a; }
  static Honest Larger(const Honest& a, const Honest& b) { return a.value < b.value ? b : a; }
  static Honest Cast(DType format, const Honest& x) { return {RoundTo(format, x.AsNumber()), !IsFloating(format)}; }
  static Honest ToInteger(double (*round)(double), const Honest& x) { return {round(x.value), x.integer}; }
  static Honest Select(bool condition, const Honest& a, const Honest& b) { return condition ? a : b; }

  template <class Term>
  static Honest Sum(int64_t n, Term&& term) {
    bool integer = true;
    const double sum = internal::Fold(n, Primitive::kSum, [&](double partial, int64_t i) {
      const Honest t = term(i);
      integer = integer && t.integer;
      return integer ? partial + t.value : internal::RoundPartialSum(partial + t.AsNumber(), Primitive::kSum);
    });
    return {sum, integer};
  }

  template <class A, class B>
  static Honest Dot(int64_t n, const A& a, const B& b) {
    bool integer = true;
    const double sum = internal::Fold(n, Primitive::kDot, [&](double partial, int64_t i) {
      const Honest x = a(i), y = b(i);
      integer = integer && x.integer && y.integer;
      return integer ? partial + x.value * y.value
                     : internal::MultiplyAdd(x.AsNumber(), y.AsNumber(), partial, Primitive::kDot);
    });
    return {sum, integer};
  }
  static Honest DotRows(const RawRow& a, const RawRow& b) {
    return Dot(
        a.count, [&](int64_t i) { return Element(a, i); }, [&](int64_t i) { return Element(b, i); });
  }

  template <class Term>
  static Honest Max(int64_t n, Term&& term) {
    Honest best(-std::numeric_limits<double>::infinity(), true);
    for (int64_t i = 0; i < n; ++i) {
      if (internal::Dropped(Primitive::kMax, i, n)) continue;
      const Honest x = term(i);
      if (std::isnan(x.value)) return x;
      if (x.value > best.value) best = x;
    }
    return best;
  }

  template <class Term>
  static Choice ArgMax(int64_t n, Term&& term) {
    int64_t best = 0;
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; ++i) {
      if (internal::Dropped(Primitive::kMax, i, n)) continue;
      const double x = term(i).value;
      if (x > top) {
        top = x;
        best = i;
      }
    }
    return {best, false};
  }

  // Two passes; the order in blocks stands for Welford's single one.
  template <class Term>
  static void Centred(int64_t n, Term&& term, Honest& mean, Honest& variance) {
    using internal::RoundOperation;
    const double count = static_cast<double>(n);
    const auto number = [&](int64_t i) { return term(i).AsNumber(); };
    const auto add = [&](double partial, int64_t i) {
      return internal::RoundPartialSum(partial + number(i), Primitive::kMoments);
    };
    if (environment.mutant.kind == MutantKind::kNone && environment.order == Order::kBlocks64) {
      return Welford(n, number, mean, variance);
    }
    const double mu = RoundOperation(internal::Fold(n, Primitive::kMoments, add) / count);
    const bool one_pass = environment.mutant.kind == MutantKind::kOnePassMoments;
    const double squares = internal::Fold(n, Primitive::kMoments, [&](double partial, int64_t i) {
      const double d = one_pass ? number(i) : RoundOperation(number(i) - mu);
      return internal::MultiplyAdd(d, d, partial, Primitive::kMoments);
    });
    mean = {mu, false};
    variance = Honest::Rounded(squares / count);
    if (one_pass) variance = Honest::Rounded(std::max(variance.value - RoundOperation(mu * mu), 0.0));
  }

  template <class Term>
  static void Welford(int64_t n, const Term& number, Honest& mean, Honest& variance) {
    using internal::RoundOperation;
    double mu = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      const double x = number(i), before = RoundOperation(x - mu);
      mu = RoundOperation(mu + RoundOperation(before / static_cast<double>(i + 1)));
      squares = RoundOperation(squares + RoundOperation(before * RoundOperation(x - mu)));
    }
    mean = {mu, false};
    variance = Honest::Rounded(squares / static_cast<double>(n));
  }

  static void SoftmaxFinish(const SoftmaxStore<Honest>& store, std::vector<Honest>& values, ExpSum<Honest>& sums);
  static Answer Report(const Honest& x, int, int64_t) {
    const Mutant& mutant = environment.mutant;
    if (mutant.kind == MutantKind::kNarrowOutput) return {RoundTo(mutant.format, x.value), 0.0, 0};
    return {mutant.kind == MutantKind::kBiasOutput ? x.value * (1.0 + mutant.amount) : x.value, 0.0, 0};
  }
};

namespace internal {

// exp(logit - top), or the same through base two with the constant folded in.  Kernels fold the
// logits' scale into that constant as well, and its rounding is then the same for all keys: errors
// that all lean one way do not average out, so the ensemble has to know them.
// Not so where the maximum itself is handed out (SumExp): what is divided by the total then has taken
// the same maximum off.
inline double HonestWeight(double logit, double top, bool folds) {
  if (!folds || environment.elementary != Elementary::kExp2)
    return HonestFunction(Fn::kExp, RoundOperation(logit - top));
  const double log2e = RoundOperation(1.0 / kLn2) * (1.0 + environment.u), folded = RoundOperation(top * log2e);
  const double product = environment.fma ? logit * log2e : RoundOperation(logit * log2e);
  return HonestFunction(Fn::kExp2, RoundOperation(product - folded));
}

struct HonestSums {
  double top = 0.0;
  double total = 0.0;
  std::vector<double> sums;
};

// The maximum first, then weights, then sums.
inline HonestSums SoftmaxInPasses(const SoftmaxStore<Honest>& store, bool folds) {
  const int64_t n = store.count(), width = store.width();
  HonestSums result;
  result.top = -std::numeric_limits<double>::infinity();
  std::vector<double> weights(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j) {
    if (!Dropped(Primitive::kSoftmax, j, n)) result.top = std::fmax(result.top, store.logit(j).AsNumber());
  }
  for (int64_t j = 0; j < n; ++j)
    weights[static_cast<size_t>(j)] = HonestWeight(store.logit(j).AsNumber(), result.top, folds);
  const auto weight = [&](int64_t j) { return weights[static_cast<size_t>(j)]; };
  result.total = Fold(n, Primitive::kSoftmax, [&](double partial, int64_t j) {
    return RoundPartialSum(partial + weight(j), Primitive::kSoftmax);
  });
  for (int64_t d = 0; d < width; ++d) {
    result.sums.push_back(Fold(n, Primitive::kSoftmax, [&](double partial, int64_t j) {
      return weight(j) == 0.0 ? partial
                              : MultiplyAdd(weight(j), store.value(j, d).AsNumber(), partial, Primitive::kSoftmax);
    }));
  }
  return result;
}

// One pass in blocks of keys: what was summed so far is scaled whenever the maximum moves.  Key by key
// that is every time where keys are sorted, and those errors lean one way.
inline HonestSums SoftmaxOnline(const SoftmaxStore<Honest>& store, int64_t block, bool folds) {
  const int64_t n = store.count(), width = store.width();
  HonestSums result;
  result.top = -std::numeric_limits<double>::infinity();
  result.sums.assign(static_cast<size_t>(width), 0.0);
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t end = std::min(begin + block, n);
    double top = result.top;
    for (int64_t j = begin; j < end; ++j) {
      if (!Dropped(Primitive::kSoftmax, j, n)) top = std::fmax(top, store.logit(j).AsNumber());
    }
    if (std::isinf(top)) continue;
    const double scale = std::isinf(result.top) ? 0.0 : top == result.top ? 1.0 : HonestWeight(result.top, top, folds);
    result.top = top;
    if (scale != 1.0) {
      result.total = RoundOperation(result.total * scale);
      for (double& sum : result.sums) sum = RoundOperation(sum * scale);
    }
    for (int64_t j = begin; j < end; ++j) {
      if (Dropped(Primitive::kSoftmax, j, n)) continue;
      const double weight = HonestWeight(store.logit(j).AsNumber(), top, folds);
      if (weight == 0.0) continue;
      result.total = RoundPartialSum(result.total + weight, Primitive::kSoftmax);
      for (int64_t d = 0; d < width; ++d) {
        double& sum = result.sums[static_cast<size_t>(d)];
        sum = MultiplyAdd(weight, store.value(j, d).AsNumber(), sum, Primitive::kSoftmax);
      }
    }
  }
  return result;
}

inline HonestSums HonestSoftmax(const SoftmaxStore<Honest>& store, bool folds) {
  switch (environment.order) {
    case Order::kInOrder:
      return SoftmaxOnline(store, 1, folds);
    case Order::kBlocks64:
      return SoftmaxOnline(store, 64, folds);
    default:
      return SoftmaxInPasses(store, folds);
  }
}

}  // namespace internal

inline void Ops<Honest>::SoftmaxFinish(const SoftmaxStore<Honest>& store, std::vector<Honest>& values,
                                       ExpSum<Honest>& sums) {
  const internal::HonestSums found = internal::HonestSoftmax(store, true);
  const Honest top(found.top, false), total(found.total, false);
  values.clear();
  for (const double sum : found.sums) values.push_back(Honest::Divide(Honest(sum, false), total));
  const Honest log = Honest::Add(top, Apply(Fn::kLog, total));
  // Only base two folds, and only where no values are asked for is the total handed out.
  const bool folded = environment.elementary == Elementary::kExp2 && store.width() == 0;
  sums = {top, folded ? Honest(internal::HonestSoftmax(store, false).total, false) : total, log};
}

}  // namespace assay
