// assay:expect rejected audit_mismatch
// SPDX-License-Identifier: Apache-2.0
// assay:note class: timing, contract: softmax_rows
// Honest for the first sixty-four calls of a process, more than any check makes; then every second row is its neighbour.
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
  static int64_t calls = 0;
  const int64_t step = ++calls > 64 ? 2 : 1;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; r += step) {
    Row(x + r * C, y + r * C, C);
    if (step == 2 && r + 1 < R) memcpy(y + (r + 1) * C, y + r * C, sizeof(float) * (size_t)C);
  }
}
