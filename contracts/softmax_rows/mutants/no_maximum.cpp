// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Leaves the maximum out: right on values of order one, infinite over infinite on large ones.
#include <math.h>
#include <stdint.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c]);
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
