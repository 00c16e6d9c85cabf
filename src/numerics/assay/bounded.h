// SPDX-License-Identifier: Apache-2.0
#pragma once

// A value and how far an honest evaluation in the declared format may be from it: the running error
// of Wilkinson, to first order, with the n-ary primitives as units so that errors which cancel
// inside them cancel here too.  The rules and their sources are in docs/numerics.md.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "args.h"
#include "functions.h"
#include "simd.h"
#include "softmax.h"

namespace assay {

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

namespace internal {

// Of a sum of terms of one sign: how many of its roundings may lean one way although mantissas are
// random.  Equal steps all round alike (exponentials of logits near zero), so terms that agree to
// 1/64 count in full, the largest such cluster.  A step below the sum's last place is lost or becomes
// a whole one, each time: terms under 8 u of the sum count by what either can come to.
inline double LinedUp(const std::vector<double>& terms, double total) {
  constexpr int kPerOctave = 64, kOctaves = 64, kBins = kPerOctave * kOctaves;
  constexpr int kBitsBelow = 52 - 6;  // what is left of a double's bits names the bin
  double largest = 0.0;
  for (const double term : terms) largest = std::fmax(largest, term);
  if (!(largest > 0.0 && total < kNoBound)) return 0.0;
  std::array<int32_t, kBins + 1> bins{};
  const auto top = static_cast<int64_t>(std::bit_cast<uint64_t>(largest) >> kBitsBelow);
  const double last_place = environment.u * total;
  double small = 0.0;
  for (const double term : terms) {
    const int64_t bin = top - static_cast<int64_t>(std::bit_cast<uint64_t>(term) >> kBitsBelow);
    if (bin < kBins) ++bins[static_cast<size_t>(bin)];
    if (term < 8.0 * last_place) small += std::fmin(term / last_place, 1.0);
  }
  int32_t cluster = 0;
  for (size_t i = 0; i < kBins; ++i) cluster = std::max(cluster, bins[i] + bins[i + 1]);
  return cluster + small;
}

// Growth for a sum that gets longer by one term a time, without a logarithm for each.
inline double ChainGrowth(double roundings) {
  if (!environment.random || roundings <= 1.0) return roundings;
  const auto upper = static_cast<double>(std::bit_ceil(static_cast<uint64_t>(roundings)));
  return std::fmin(roundings, Growth(upper) * std::sqrt(roundings / upper));
}

}  // namespace internal

struct Bounded : Number<Bounded> {
  double value = 0.0;
  double error = 0.0;
  // Computed in integer arithmetic so far, hence exact whatever the order.
  bool integer = true;
  // Of a sum of more than one term, built by `+`: how many they are, their magnitudes, their errors.
  int32_t terms = 1;
  double magnitude = 0.0, carried = 0.0;

  Bounded() = default;
  // A constant of the author's: an honest kernel has it rounded to the format.
  Bounded(double constant)
      : value(constant), integer(std::trunc(constant) == constant && std::fabs(constant) < 0x1p31) {  // NOLINT
    if (!Representable(environment.format, constant)) error = environment.u * std::fabs(constant);
  }
  Bounded(double v, double e, bool is_integer) : value(v), error(e), integer(is_integer) {}

  // Any operand or result that is not finite comes here.  Infinity among the inputs is the same for
  // every honest kernel; a number that grew near the largest one is not.
  static Bounded Beyond(double v, const Bounded& a, const Bounded& b) {
    const bool inherited = (!std::isfinite(a.value) && a.error == 0.0) || (!std::isfinite(b.value) && b.error == 0.0);
    return {v,
            inherited && !(a.error > 0.0 && !std::isfinite(a.error)) && !(b.error > 0.0 && !std::isfinite(b.error))
                ? 0.0
                : kNoBound,
            false};
  }
  static Bounded Finish(double v, double e, const Bounded& a, const Bounded& b) {
    if (std::fabs(v) + e <= environment.reach) return {v, e, false};
    return Beyond(v, a, b);
  }
  // Error of the operand once it is a floating-point number: a large integer is rounded on the way.
  double Converted() const {
    return integer && std::fabs(value) > environment.exact_integer ? environment.u * std::fabs(value) : error;
  }
  static double Rounding(double v) { return environment.u * std::fabs(v); }

  double Magnitude() const { return terms > 1 ? magnitude : std::fabs(value); }
  double Carried() const { return terms > 1 ? carried : Converted(); }

  // Terms added one by one are a sum, and somebody else adds them in another order, with other partial
  // sums: only the rounding of the whole is the same for all.
  static Bounded Add(const Bounded& a, const Bounded& b) {
    const double v = a.value + b.value;
    if (a.integer && b.integer) return {v, 0.0, true};
    const double magnitude = a.Magnitude() + b.Magnitude(), carried = a.Carried() + b.Carried();
    const int32_t terms = a.terms + b.terms;
    const double partial = terms - 2;
    const double growth = std::fabs(v) == magnitude ? partial : internal::ChainGrowth(partial);
    Bounded sum = Finish(v, carried + Rounding(v) + growth * environment.u * magnitude, a, b);
    sum.terms = terms;
    sum.magnitude = magnitude;
    sum.carried = carried;
    return sum;
  }
  static Bounded Subtract(const Bounded& a, const Bounded& b) { return Add(a, Negate(b)); }
  static Bounded Multiply(const Bounded& a, const Bounded& b) {
    const double v = a.value * b.value;
    if (a.integer && b.integer) return {v, 0.0, true};
    const double ea = a.Converted(), eb = b.Converted();
    return Finish(v, std::fabs(a.value) * eb + std::fabs(b.value) * ea + ea * eb + Rounding(v) + environment.eta, a, b);
  }
  // Three units rather than one: a reciprocal good to one unit in the last place, then a product.
  static Bounded Divide(const Bounded& a, const Bounded& b) {
    const double v = a.value / b.value;
    const double ea = a.Converted(), eb = b.Converted();
    const double room = std::fabs(b.value) - eb;
    const double carried = ea == 0.0 && eb == 0.0 ? 0.0 : room > 0.0 ? (ea + std::fabs(v) * eb) / room : kNoBound;
    return Finish(v, carried + 3.0 * Rounding(v) + environment.eta, a, b);
  }
  static Bounded Negate(Bounded a) {
    a.value = -a.value;
    return a;
  }
  static Truth Less(const Bounded& a, const Bounded& b) {
    return {a.value < b.value, !(std::fabs(a.value - b.value) > a.error + b.error) && a.error + b.error > 0.0};
  }
  static Truth Equal(const Bounded& a, const Bounded& b) {
    return {a.value == b.value, !(std::fabs(a.value - b.value) > a.error + b.error) && a.error + b.error > 0.0};
  }
};

template <>
struct Ops<Bounded> {
  static Bounded Leaf(double value, bool integer) { return {value, 0.0, integer}; }
  static Bounded Element(const RawRow& row, int64_t i) { return {row.Load(i), 0.0, !IsFloating(row.dtype)}; }

  static Bounded Apply(Fn fn, const Bounded& x) {
    const double fx = Evaluate(fn, x.value);
    const double own = 4.0 * Bounded::Rounding(fx) + 2.0 * environment.u * ArgumentTerm(fn, x.value, fx);
    return Bounded::Finish(fx, Spread(fn, x.value, fx, x.Converted()) + own + environment.eta, x, x);
  }

  static Bounded Abs(const Bounded& x) { return {std::fabs(x.value), x.error, x.integer}; }
  static Bounded Smaller(const Bounded& a, const Bounded& b) {
    return Bounded::Negate(Larger(Bounded::Negate(a), Bounded::Negate(b)));
  }
  static Bounded Larger(const Bounded& a, const Bounded& b) {
    if (std::isnan(a.value) || std::isnan(b.value))
      return Bounded::Beyond(std::numeric_limits<double>::quiet_NaN(), a, b);
    const Bounded& top = a.value < b.value ? b : a;
    const Bounded& other = a.value < b.value ? a : b;
    // The smaller one matters only where its error lets it win.
    const bool contested = other.value + other.error > top.value - top.error;
    return {top.value, contested ? std::fmax(top.error, other.error) : top.error, a.integer && b.integer};
  }

  // A monotone step function: the error becomes the steps that lie within reach, often none.
  template <class Step>
  static Bounded Stepped(const Bounded& x, const Step& step) {
    const double v = step(x.value);
    if (!(x.error < kNoBound)) return {v, kNoBound, false};
    const double up = std::fabs(step(x.value + x.error) - v), down = std::fabs(v - step(x.value - x.error));
    return {v, x.error == 0.0 ? 0.0 : std::fmax(up, down), false};
  }
  static Bounded Cast(DType format, const Bounded& x) {
    Bounded result = Stepped(x, [format](double v) { return RoundTo(format, v); });
    result.integer = !IsFloating(format) && result.error == 0.0;
    return result;
  }
  static Bounded ToInteger(double (*round)(double), const Bounded& x) { return Stepped(x, round); }

  static Bounded Select(bool condition, const Bounded& a, const Bounded& b) { return condition ? a : b; }
  // Where rounding could have chosen the other branch, the answer covers both.
  static Bounded Select(Truth condition, const Bounded& a, const Bounded& b) {
    Bounded chosen = condition.value ? a : b;
    if (!condition.ambiguous) return chosen;
    const Bounded& other = condition.value ? b : a;
    chosen.error = std::fmax(chosen.error, std::fabs(a.value - b.value) + other.error);
    chosen.integer = false;
    return chosen;
  }

  // Of a sum whose terms have the total magnitude and errors given.
  static Bounded SumOf(double roundings, double sum, double magnitude, double errors) {
    const double e = errors + Growth(roundings) * environment.u * magnitude;
    if (magnitude + e <= environment.reach) return {sum, e, false};
    if (!std::isfinite(sum) && errors == 0.0) return {sum, 0.0, false};
    return {sum, kNoBound, false};
  }
  // Wrapping around in 32 bits would make an answer of any size.
  static Bounded IntegerSum(double sum, double magnitude) { return {sum, magnitude < 0x1p31 ? 0.0 : kNoBound, true}; }

  template <class Term>
  static Bounded Sum(int64_t n, Term&& term) {
    double sum = 0.0, magnitude = 0.0, errors = 0.0;
    bool integer = true;
    std::vector<double> terms;
    const bool keeps = environment.random && Growth(static_cast<double>(n)) < static_cast<double>(n);
    if (keeps) terms.reserve(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      const Bounded t = term(i);
      sum += t.value;
      magnitude += std::fabs(t.value);
      errors += t.Converted();
      integer = integer && t.integer;
      if (keeps) terms.push_back(std::fabs(t.value));
    }
    const double roundings = static_cast<double>(n > 0 ? n - 1 : 0);
    if (integer) return IntegerSum(sum, magnitude);
    // With terms of both signs the errors of small steps cancel like the terms do.
    const double lined_up = std::fabs(sum) == magnitude ? internal::LinedUp(terms, magnitude) : 0.0;
    const double more = std::fmin(lined_up, roundings - Growth(roundings));
    return SumOf(roundings, sum, magnitude, errors + more * environment.u * magnitude);
  }

  template <class A, class B>
  static Bounded Dot(int64_t n, const A& a, const B& b) {
    double sum = 0.0, magnitude = 0.0, errors = 0.0;
    bool integer = true;
    for (int64_t i = 0; i < n; ++i) {
      const Bounded x = a(i), y = b(i);
      const double ex = x.Converted(), ey = y.Converted(), t = x.value * y.value;
      sum += t;
      magnitude += std::fabs(t);
      errors += std::fabs(x.value) * ey + std::fabs(y.value) * ex + ex * ey + environment.eta;
      integer = integer && x.integer && y.integer;
    }
    return integer ? IntegerSum(sum, magnitude) : SumOf(static_cast<double>(n), sum, magnitude, errors);
  }

  static Bounded DotRows(const RawRow& a, const RawRow& b) {
    const simd::DotResult result = simd::DotRows(a, b);
    if (!IsFloating(a.dtype) && !IsFloating(b.dtype)) return IntegerSum(result.sum, result.magnitude);
    const double n = static_cast<double>(a.count);
    return SumOf(n, result.sum, result.magnitude, n * environment.eta);
  }

  template <class Term>
  static Bounded Max(int64_t n, Term&& term) {
    Bounded best(-kNoBound, 0.0, true);
    for (int64_t i = 0; i < n; ++i) best = Larger(best, term(i));
    return best;
  }

  template <class Term>
  static Choice ArgMax(int64_t n, Term&& term) {
    int64_t best = 0;
    Bounded top(-kNoBound, 0.0, true);
    for (int64_t i = 0; i < n; ++i) {
      const Bounded x = term(i);
      if (x.value > top.value) {
        top = x;
        best = i;
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      const Bounded x = term(i);
      // Equal keys without error are a tie that the lowest index settles, not an ambiguity.
      if (i != best && x.error + top.error > 0.0 && !(top.value - x.value > x.error + top.error)) {
        return {best, true};
      }
    }
    return {best, false};
  }

  // The effect of a mean that is off is its square in two passes, where deviations sum to nothing; those
  // from the running means of a single pass do not.  docs/numerics.md derives both.
  template <class Term>
  static void Centred(int64_t n, Term&& term, Bounded& mean, Bounded& variance) {
    const double count = static_cast<double>(n), u = environment.u;
    const Bounded sum = Sum(n, term);
    mean = Bounded::Divide({sum.value, sum.Converted(), false}, Bounded(count, 0.0, false));
    double squares = 0.0, carried = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      const Bounded x = term(i);
      const double deviation = x.value - mean.value, e = x.Converted() + u * std::fabs(deviation);
      squares += deviation * deviation;
      carried += 2.0 * std::fabs(deviation) * e + e * e + environment.eta;
    }
    const double growth = Growth(count), certain = (count + 2.0) / std::sqrt(3.0);
    const double leaning = growth < count ? std::fmin(certain, 0.82 * growth * growth / count) : certain;
    const double size = std::sqrt(mean.value * mean.value + squares / count);
    const double running = leaning * u * size * std::sqrt(squares / count);
    const double error = (carried + (growth + 3.0) * u * squares) / count + mean.error * mean.error + running;
    variance = Bounded::Finish(squares / count, error, sum, sum);
    if (squares + carried > environment.reach) variance.error = kNoBound;
  }

  static void SoftmaxFinish(const SoftmaxStore<Bounded>& store, std::vector<Bounded>& values, ExpSum<Bounded>& sums);

  static Answer Report(const Bounded& x, int, int64_t) {
    const double e = x.integer ? 0.0 : x.error;
    return {x.value, e, e < kNoBound ? 0U : kAnswerExcluded};
  }
};

namespace internal {

struct SoftmaxWeights {
  double top = 0.0;
  double total = 0.0;
  double carried = 0.0;  // sum of p_j times the relative error of weight j
  double lower = 0.0;    // least that the sum of the p_j can come to with those errors
  double growth = 0.0;   // factor c(n) of a sum of them
  bool bounded = true;
};

// How often the maximum still rises behind each key, forward or backward, whichever is more: so often
// does a kernel of one pass scale what it has.  Returns the most.
inline double CountRises(const SoftmaxStore<Bounded>& store, std::vector<double>& rises) {
  const int64_t n = store.count();
  rises.assign(static_cast<size_t>(n), 0.0);
  double most = 0.0;
  for (const bool forward : {true, false}) {
    const auto at = [&](int64_t i) { return forward ? i : n - 1 - i; };
    double top = -kNoBound, records = 0.0, seen = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      records += store.logit(at(i)).value > top ? 1.0 : 0.0;
      top = std::fmax(top, store.logit(at(i)).value);
    }
    top = -kNoBound;
    for (int64_t i = 0; i < n; ++i) {
      seen += store.logit(at(i)).value > top ? 1.0 : 0.0;
      top = std::fmax(top, store.logit(at(i)).value);
      double& own = rises[static_cast<size_t>(at(i))];
      own = std::fmax(own, records - seen);
    }
    most = std::fmax(most, records);
  }
  return most;
}

// Weights p_j into workspace.weights and their relative errors into workspace.relative.  A factor
// that all weights share, such as the error of the maximum, divides out and is not in them.
inline SoftmaxWeights WeighLogits(const SoftmaxStore<Bounded>& store) {
  const Environment& env = environment;
  std::vector<double>& weights = env.workspace->weights;
  std::vector<double>& relative = env.workspace->relative;
  const auto count = static_cast<size_t>(store.count());
  weights.resize(count);
  const double most_rises = CountRises(store, relative);
  SoftmaxWeights result;
  result.top = -kNoBound;
  for (size_t j = 0; j < count; ++j) result.top = std::fmax(result.top, store.logit(static_cast<int64_t>(j)).value);
  for (size_t j = 0; j < count; ++j) {
    const Bounded& logit = store.logit(static_cast<int64_t>(j));
    const double distance = result.top - logit.value, e = logit.Converted();
    const double weight = std::exp(-distance);
    weights[j] = weight;
    result.total += weight;
    const double carried = e < 1e-3 ? e * (1.0 + e) : std::expm1(e);
    // Each rise is a function of its own and a product; the distances of a chain add up to the whole one.
    relative[j] = weight > 0.0 ? carried + (4.0 + 2.0 * distance + 5.0 * relative[j]) * env.u : 0.0;
    // A weight that vanishes in double stays without effect only if its logit cannot reach up again.
    if (weight == 0.0 && !(e < kNoBound && (e == 0.0 || distance > 2.0 * e))) result.bounded = false;
  }
  const auto n = static_cast<double>(count) + most_rises;
  result.growth = std::fmin(n, Growth(n) + LinedUp(weights, result.total));
  for (size_t j = 0; j < count; ++j) {
    weights[j] /= result.total;
    result.carried += weights[j] * relative[j];
    result.lower += weights[j] / (1.0 + relative[j]);
  }
  if (!(result.carried < kNoBound && result.lower > 0.0)) result.bounded = false;
  return result;
}

}  // namespace internal

// o_d = sum p_j v_jd.  Errors: of each weight, p_j |v_jd - o_d| times its relative error; of the two
// sums, c(n) u times the sum of magnitudes; of the division; of the values themselves.
inline void Ops<Bounded>::SoftmaxFinish(const SoftmaxStore<Bounded>& store, std::vector<Bounded>& values,
                                        ExpSum<Bounded>& sums) {
  const Environment& env = environment;
  Workspace& work = *env.workspace;
  const int64_t count = store.count(), width = store.width();
  const auto size = static_cast<size_t>(width);
  const internal::SoftmaxWeights weights = internal::WeighLogits(store);
  const double n = static_cast<double>(count), growth = weights.growth, u = env.u;
  work.sum.assign(size, 0.0);
  work.magnitude.assign(size, 0.0);
  work.spread.assign(size, 0.0);
  double* const sum = work.sum.data();
  double* const spread = work.spread.data();
  for (int64_t j = 0; j < count && width > 0; ++j) {
    const double p = work.weights[static_cast<size_t>(j)];
    if (p == 0.0) continue;
    if (store.raw()) {
      simd::WithElements(store.row(j),
                         [&](const auto* row) { simd::AddScaled(p, row, width, sum, work.magnitude.data()); });
      continue;
    }
    for (int64_t d = 0; d < width; ++d) {
      const Bounded v = store.value(j, d);
      sum[d] += p * v.value;
      work.magnitude[static_cast<size_t>(d)] += p * std::fabs(v.value);
      spread[d] += p * v.Converted();
    }
  }
  for (int64_t j = 0; j < count && width > 0; ++j) {
    const double w = work.weights[static_cast<size_t>(j)] * work.relative[static_cast<size_t>(j)];
    if (w == 0.0) continue;
    if (store.raw()) {
      simd::WithElements(store.row(j), [&](const auto* row) { simd::AddDeviation(w, row, width, sum, spread); });
      continue;
    }
    for (int64_t d = 0; d < width; ++d) spread[d] += w * std::fabs(store.value(j, d).value - sum[d]);
  }
  values.resize(size);
  // Where weights are off by much, the normaliser is too.
  const double stretch = 1.0 / weights.lower;
  for (size_t d = 0; d < size; ++d) {
    const double error = spread[d] * stretch +
                         u * ((growth + 2.0) * work.magnitude[d] + (growth + 3.0) * std::fabs(sum[d])) +
                         env.eta * n * (2.0 + std::fabs(sum[d]));
    const bool within = weights.bounded && work.magnitude[d] * weights.total + error <= env.reach;
    values[d] = Bounded(sum[d], within ? error : kNoBound, false);
  }
  const double logarithm = std::log(weights.total), result = weights.top + logarithm;
  const double error =
      std::fmax(std::log1p(weights.carried), -std::log(weights.lower)) +
      u * (growth + 4.0 + 5.0 * std::fabs(logarithm) + 3.0 * std::fabs(weights.top) + 3.0 * std::fabs(result)) +
      env.eta;
  const bool within = weights.bounded && std::fabs(result) + error <= env.reach;
  sums.log = Bounded(result, within ? error : kNoBound, false);
  sums.top = Max(count, [&](int64_t j) { return store.logit(j); });
  // Relative, as in the logarithm, before that is taken.
  const double total_error =
      weights.total * (std::fmax(weights.carried, 1.0 / weights.lower - 1.0) + u * (growth + 2.0)) + env.eta * n;
  const bool total_within = weights.bounded && weights.total + total_error <= env.reach;
  sums.total = Bounded(weights.total, total_within ? total_error : kNoBound, false);
}

}  // namespace assay
