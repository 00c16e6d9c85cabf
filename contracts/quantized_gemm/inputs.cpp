// SPDX-License-Identifier: Apache-2.0
#include <assay/draw.h>

#include <algorithm>
#include <cmath>

// The output's scale as calibration would choose it: from what the sums of this call come to, some codes saturated. Where
// the channels' scales are powers of two the other scales are, too, so that values meet the middle between two codes.
void Inputs(assay::Draw& draw) {
  const int64_t M = draw.axis("M"), N = draw.axis("N"), K = draw.axis("K");
  assay::Random& random = draw.random();
  const auto a = draw.tensor("a"), w = draw.tensor("w"), wscale = draw.tensor("wscale");
  const double zero = draw.scalar("azero");
  constexpr int kSamples = 64;
  double square = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    const int64_t m = random.Below(M), n = random.Below(N);
    double sum = draw.has("bias") ? draw.tensor("bias").get(n) : 0;
    for (int64_t k = 0; k < K; ++k) sum += (a.get({m, k}) - zero) * w.get({n, k});
    sum *= wscale.get(n);
    square += sum * sum / kSamples;
  }
  int exponent = 0;
  const bool powers = std::frexp(wscale.get(random.Below(N)), &exponent) == 0.5;
  const double ascale = powers ? std::ldexp(1.0, -static_cast<int>(4 + random.Below(6)))
                               : std::exp(random.Uniform(std::log(1e-3), std::log(1e-1)));
  const double wanted = ascale * std::max(std::sqrt(square), wscale.get(0)) / random.Uniform(20, 80);
  draw.set_scalar("ascale", ascale);
  draw.set_scalar("oscale", powers ? std::exp2(std::round(std::log2(wanted))) : wanted);
}
