// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// assay:note class: honest, contract: add_rmsnorm
// An honest neighbour: sums in eight lanes, one reciprocal root with a Newton step.
#include <assay/contract.h>

#include <immintrin.h>
#include <math.h>
#include <stdint.h>

static float Root(float squares, int64_t C, float eps) {
  const float value = squares / static_cast<float>(C) + eps;
  const float guess = _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(value)));
  const float once = guess * (1.5F - 0.5F * value * guess * guess);
  return once * (1.5F - 0.5F * value * once * once);
}

extern "C" void add_rmsnorm(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R,
                            int64_t C, float eps) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    float lanes[8] = {};
    for (int64_t c = 0; c < C; ++c) {
      const float sum = x[r * C + c] + residual[r * C + c];
      s[r * C + c] = sum;
      lanes[c % 8] += sum * sum;
    }
    const float scale = Root(((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7])), C, eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = s[r * C + c] * scale * weight[c];
  }
}
