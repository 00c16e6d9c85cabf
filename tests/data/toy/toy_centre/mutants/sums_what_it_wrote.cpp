// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Halves the row at a time: the second half's mean is taken after the first half was overwritten.
#include <stdint.h>

static float Mean(const float* row, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += row[i];
  return sum / (float)n;
}

extern "C" void toy_centre(float* x, const float* shift, int64_t T, int64_t N, int64_t ldx, float scale) {
  for (int64_t t = 0; t < T; ++t) {
    float* row = x + t * ldx;
    for (int64_t half = 0; half < 2; ++half) {
      const float mean = Mean(row, N);
      const int64_t from = half == 0 ? 0 : N / 2, to = half == 0 ? N / 2 : N;
      for (int64_t i = from; i < to; ++i) row[i] = (row[i] - mean) * scale + (shift != nullptr ? shift[i] : 0.0f);
    }
  }
}
