// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Mean and squared deviations in one pass, by Welford's update.
#include <math.h>
#include <stdint.h>

extern "C" void layernorm(const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd,
                          int64_t R, int64_t C, float eps) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float mu = 0, squares = 0;
    for (int64_t c = 0; c < C; ++c) {
      const float before = in[c] - mu;
      mu += before / static_cast<float>(c + 1);
      squares += before * (in[c] - mu);
    }
    const float scale = 1.0f / sqrtf(squares / static_cast<float>(C) + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = (in[c] - mu) * scale * gain[c] + bias[c];
    if (mean != nullptr) mean[r] = mu;
    if (rstd != nullptr) rstd[r] = scale;
  }
}
