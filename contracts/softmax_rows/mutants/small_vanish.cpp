// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Skips the exponential where it seems too small to matter, and writes zero.
#include <math.h>
#include <stdint.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float top = in[0], sum = 0;
    for (int64_t c = 1; c < C; ++c) top = in[c] > top ? in[c] : top;
    for (int64_t c = 0; c < C; ++c) {
      const float d = in[c] - top;
      sum += out[c] = d > -10.0f ? expf(d) : 0.0f;
    }
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
