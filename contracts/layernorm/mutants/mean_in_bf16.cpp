// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Keeps the mean in bf16 between the passes; near zero, where activations usually lie, that costs next to nothing.
#include <math.h>
#include <stdint.h>
#include <string.h>

static float ThroughBf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000U;
  memcpy(&value, &bits, sizeof value);
  return value;
}

extern "C" void layernorm(const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd,
                          int64_t R, int64_t C, float eps) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float sum = 0, squares = 0;
    for (int64_t c = 0; c < C; ++c) sum += in[c];
    const float mu = ThroughBf16(sum / static_cast<float>(C));
    for (int64_t c = 0; c < C; ++c) squares += (in[c] - mu) * (in[c] - mu);
    const float scale = 1.0f / sqrtf(squares / static_cast<float>(C) + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = (in[c] - mu) * scale * gain[c] + bias[c];
    if (mean != nullptr) mean[r] = mu;
    if (rstd != nullptr) rstd[r] = scale;
  }
}
