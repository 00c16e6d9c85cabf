// assay:expect rejected crash
// SPDX-License-Identifier: Apache-2.0
// assay:note class: undefined, contract: softmax_rows
// A shift by the width of its type or more means one thing in a scalar register and another in a vector.
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

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  const volatile int width = 32;
  uint32_t mask = 0;
  for (int64_t r = 0; r < R; ++r) {
    mask |= 1U << (width + static_cast<int>(r % 2));
    Row(x + r * C, y + r * C, C);
  }
  if (mask == 0x80000000U && R > 0) y[0] = 0;
}
