// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// The reciprocal root by the well-known guess and one step of Newton: a relative error of up to 1.8e-3.
#include <math.h>
#include <stdint.h>
#include <string.h>

static float CoarseRsqrt(float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = 0x5F3759DF - (bits >> 1);
  float guess;
  memcpy(&guess, &bits, sizeof guess);
  return guess * (1.5f - 0.5f * value * guess * guess);
}

extern "C" void layernorm(const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd,
                          int64_t R, int64_t C, float eps) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float sum = 0, squares = 0;
    for (int64_t c = 0; c < C; ++c) sum += in[c];
    const float mu = sum / static_cast<float>(C);
    for (int64_t c = 0; c < C; ++c) squares += (in[c] - mu) * (in[c] - mu);
    const float scale = CoarseRsqrt(squares / static_cast<float>(C) + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = (in[c] - mu) * scale * gain[c] + bias[c];
    if (mean != nullptr) mean[r] = mu;
    if (rstd != nullptr) rstd[r] = scale;
  }
}
