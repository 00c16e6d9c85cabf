// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Forgets eps, which on values of order one is hardly above rounding. Constant rows become NaN.
#include <math.h>
#include <stdint.h>

extern "C" void layernorm(const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd,
                          int64_t R, int64_t C, float) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float sum = 0, squares = 0;
    for (int64_t c = 0; c < C; ++c) sum += in[c];
    const float mu = sum / static_cast<float>(C);
    for (int64_t c = 0; c < C; ++c) squares += (in[c] - mu) * (in[c] - mu);
    const float scale = 1.0f / sqrtf(squares / static_cast<float>(C));
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = (in[c] - mu) * scale * gain[c] + bias[c];
    if (mean != nullptr) mean[r] = mu;
    if (rstd != nullptr) rstd[r] = scale;
  }
}
