// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// The last eight columns are left out of the sum, as by a loop over whole vectors that ends one too early: every
// output is a little too large.
#include <math.h>
#include <stdint.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  const int64_t counted = C > 8 ? C - 8 : C;
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float top = in[0], sum = 0;
    for (int64_t c = 1; c < C; ++c) top = in[c] > top ? in[c] : top;
    for (int64_t c = 0; c < C; ++c) out[c] = expf(in[c] - top);
    for (int64_t c = 0; c < counted; ++c) sum += out[c];
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
