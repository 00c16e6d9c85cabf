// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Takes the maximum of the first half only and clamps what exceeds it by much. On values of order one any reference
// point will do; on sorted or spread rows the largest element loses its weight.
#include <math.h>
#include <stdint.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float top = in[0], sum = 0;
    for (int64_t c = 1; c < C / 2; ++c) top = in[c] > top ? in[c] : top;
    for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(fminf(in[c] - top, 60.0f));
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
