// SPDX-License-Identifier: Apache-2.0
#include "search/plain_math.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kLn2High = 0x1.62e42fefap-1;  // 33 bits, so that its products with exponents are exact
constexpr double kLn2Low = 0x1.cf79abc9e3b39p-40;

}  // namespace

double PlainLog(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // [0.5, 1)
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    exponent -= 1;
  }
  // log m = 2 artanh s; |s| < 0.172, so that the thirteenth term is below 1e-20.
  const double s = (mantissa - 1) / (mantissa + 1), square = s * s;
  double sum = 0;
  for (int term = 25; term >= 1; term -= 2) sum = sum * square + 1.0 / term;
  return exponent * kLn2High + (exponent * kLn2Low + 2 * s * sum);
}

double PlainExp(double x) {
  if (x < -700) return 0;
  const double bounded = std::min(x, 700.0);
  const double times = std::floor(bounded / 0.69314718055994531 + 0.5);
  const double rest = (bounded - times * kLn2High) - times * kLn2Low;
  double sum = 1;
  for (int term = 16; term >= 1; --term) sum = 1 + sum * rest / term;
  return std::ldexp(sum, static_cast<int>(times));
}

double NormalDensity(double z) { return 0.39894228040143268 * PlainExp(-0.5 * z * z); }

// Abramowitz and Stegun, 26.2.17.
double NormalBelow(double z) {
  const double t = 1 / (1 + 0.2316419 * std::abs(z));
  const double tail = NormalDensity(z) *
                      ((((1.330274429 * t - 1.821255978) * t + 1.781477937) * t - 0.356563782) * t + 0.319381530) * t;
  return z < 0 ? tail : 1 - tail;
}

}  // namespace assay
