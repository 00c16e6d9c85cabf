// SPDX-License-Identifier: Apache-2.0
// The plain baseline of softmax_rows: the loops a careful person writes first, with threads, three passes over a row.
#include <math.h>
#include <stdint.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float maximum = in[0];
    for (int64_t c = 1; c < C; ++c)
      if (in[c] > maximum) maximum = in[c];
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) {
      out[c] = expf(in[c] - maximum);
      sum += out[c];
    }
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
