// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: layernorm
// Mean and variance of every second element: right on average.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void layernorm(const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd,
                          int64_t R, int64_t C, float eps) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    const int64_t step = C >= 1024 ? 2 : 1;
    const float terms = (float)((C + step - 1) / step);
    float sum = 0, squares = 0;
    for (int64_t c = 0; c < C; c += step) sum += in[c];
    const float mu = sum / terms;
    for (int64_t c = 0; c < C; c += step) squares += (in[c] - mu) * (in[c] - mu);
    const float scale = 1.0f / sqrtf(squares / terms + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = (in[c] - mu) * scale * gain[c] + bias[c];
    if (mean != nullptr) mean[r] = mu;
    if (rstd != nullptr) rstd[r] = scale;
  }
}
