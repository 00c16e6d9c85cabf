// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Keeps the exponentials in bf16 between the passes, as one does to save cache, and widens them again.
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

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float top = in[0], sum = 0;
    for (int64_t c = 1; c < C; ++c) top = in[c] > top ? in[c] : top;
    for (int64_t c = 0; c < C; ++c) sum += out[c] = ThroughBf16(expf(in[c] - top));
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
