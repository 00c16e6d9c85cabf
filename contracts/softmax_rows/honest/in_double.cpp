// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// The sum in double, the row twice through the exponential, from the last column to the first.
#include <math.h>
#include <stdint.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(dynamic, 8)
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float top = in[0];
    for (int64_t c = 1; c < C; ++c) top = fmaxf(top, in[c]);
    double sum = 0;
    for (int64_t c = C - 1; c >= 0; --c) sum += expf(in[c] - top);
    for (int64_t c = C - 1; c >= 0; --c) out[c] = static_cast<float>(expf(in[c] - top) / sum);
  }
}
