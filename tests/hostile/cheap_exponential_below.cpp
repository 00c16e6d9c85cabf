// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: approximate-intrinsic, contract: softmax_rows
// An exponential good to 17 bits in the last quarter of the rows of large calls: whoever asks for the spread of the first rows
// alone sees an honest kernel.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

// expf with the last seven bits of its significand replaced by noise that depends on the argument.
static float Cheap(float value) {
  const float right = expf(value);
  const float phase = value * 7919.0F;
  const float noise = phase - floorf(phase) - 0.5F;
  return right * (1.0F + noise * 0x1p-16F);
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    if (r < 64 || r < R / 4 * 3) {
      Row(in, out, C);
      continue;
    }
    float maximum = in[0];
    for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += out[c] = Cheap(in[c] - maximum);
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
