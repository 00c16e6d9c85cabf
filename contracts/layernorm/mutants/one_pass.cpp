// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// The variance as mean of squares minus square of the mean: no digit of it is left where the mean is large.
#include <math.h>
#include <stdint.h>

extern "C" void layernorm(const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd,
                          int64_t R, int64_t C, float eps) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float sum = 0, squares = 0;
    for (int64_t c = 0; c < C; ++c) {
      sum += in[c];
      squares += in[c] * in[c];
    }
    const float mu = sum / static_cast<float>(C);
    const float variance = fmaxf(squares / static_cast<float>(C) - mu * mu, 0.0f);
    const float scale = 1.0f / sqrtf(variance + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = (in[c] - mu) * scale * gain[c] + bias[c];
    if (mean != nullptr) mean[r] = mu;
    if (rstd != nullptr) rstd[r] = scale;
  }
}
