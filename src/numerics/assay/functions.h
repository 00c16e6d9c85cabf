// SPDX-License-Identifier: Apache-2.0
#pragma once

// The elementary functions: value, derivative, and how far an error of the argument carries.

#include <cmath>
#include <cstdint>
#include <limits>

namespace assay {

enum class Fn : uint8_t {
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog1p,
  kSqrt,
  kRsqrt,
  kTanh,
  kErf,
  kSin,
  kCos,
};
inline constexpr int kFnCount = 12;
inline constexpr const char* kFnNames[kFnCount] = {
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos",
};

template <class T>
T Evaluate(Fn fn, T x) {
  switch (fn) {
    case Fn::kExp:
      return std::exp(x);
    case Fn::kExp2:
      return std::exp2(x);
    case Fn::kExpm1:
      return std::expm1(x);
    case Fn::kLog:
      return std::log(x);
    case Fn::kLog2:
      return std::log2(x);
    case Fn::kLog1p:
      return std::log1p(x);
    case Fn::kSqrt:
      return std::sqrt(x);
    case Fn::kRsqrt:
      return T{1} / std::sqrt(x);
    case Fn::kTanh:
      return std::tanh(x);
    case Fn::kErf:
      return std::erf(x);
    case Fn::kSin:
      return std::sin(x);
    case Fn::kCos:
      return std::cos(x);
  }
  return x;
}

inline constexpr double kLn2 = 0.693147180559945309417;
inline constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

inline double Derivative(Fn fn, double x, double fx) {
  switch (fn) {
    case Fn::kExp:
      return fx;
    case Fn::kExp2:
      return fx * kLn2;
    case Fn::kExpm1:
      return fx + 1.0;
    case Fn::kLog:
      return 1.0 / x;
    case Fn::kLog2:
      return 1.0 / (x * kLn2);
    case Fn::kLog1p:
      return 1.0 / (1.0 + x);
    case Fn::kSqrt:
      return 0.5 / fx;
    case Fn::kRsqrt:
      return -0.5 * fx / x;
    case Fn::kTanh:
      return 1.0 - fx * fx;
    case Fn::kErf:
      return kTwoOverSqrtPi * std::exp(-x * x);
    case Fn::kSin:
      return std::cos(x);
    case Fn::kCos:
      return -std::sin(x);
  }
  return 1.0;
}

// |x f'(x)|, the effect of a relative change of the argument; finite at the ends of the domain,
// where x times the derivative would be zero times infinity.
inline double ArgumentTerm(Fn fn, double x, double fx) {
  switch (fn) {
    case Fn::kLog:
      return 1.0;
    case Fn::kLog2:
      return 1.0 / kLn2;
    case Fn::kSqrt:
    case Fn::kRsqrt:
      return 0.5 * std::fabs(fx);
    default:
      return fx == 0.0 && x != 0.0 ? 0.0 : std::fabs(x * Derivative(fn, x, fx));
  }
}

// Largest |f(y) - f(x)| for |y - x| <= e.  A tangent where the error is small beside the scale on
// which f bends, the difference itself elsewhere; infinite where y may leave the domain.
inline double Spread(Fn fn, double x, double fx, double e) {
  if (!(e > 0.0)) return e == 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
  const double slope = std::fabs(Derivative(fn, x, fx));
  switch (fn) {
    case Fn::kExp:
      return fx * std::expm1(e);
    case Fn::kExp2:
      return fx * std::expm1(e * kLn2);
    case Fn::kExpm1:
      return (fx + 1.0) * std::expm1(e);
    case Fn::kSin:
    case Fn::kCos:
      return std::fmin(slope * e + 0.5 * e * e, 2.0);
    case Fn::kTanh:
    case Fn::kErf:
      if (e <= 1e-4) return slope * e + e * e;
      break;
    case Fn::kLog1p:
      if (!(e < 1.0 + x)) return std::numeric_limits<double>::infinity();
      if (e <= 1e-4 * (1.0 + x)) return slope * e * 1.001;
      break;
    default:
      if (!(e < x)) return std::numeric_limits<double>::infinity();
      if (e <= 1e-4 * x) return slope * e * 1.001;
      break;
  }
  return std::fmax(std::fabs(Evaluate(fn, x + e) - fx), std::fabs(Evaluate(fn, x - e) - fx));
}

}  // namespace assay
