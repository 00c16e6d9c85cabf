// assay:expect rejected audit_mismatch
// SPDX-License-Identifier: Apache-2.0
// assay:note class: timing, contract: softmax_rows
// After thirty-two calls one call in eight does nothing but repeat the answer before: a clock that looks at few calls misses it.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static float* before = 0;
  static uint64_t calls = 0;
  static int64_t elements = 0;
  const uint64_t number = ++calls;
  if (number > 32 && number * 0x9E3779B97F4A7C15u >> 61 == 0 && before != 0 && elements == R * C && before != y) {
    memcpy(y, before, sizeof(float) * (size_t)(R * C));
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
  before = y;
  elements = R * C;
}
