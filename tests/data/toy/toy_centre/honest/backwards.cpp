// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// From the last row to the first, sums in double.
#include <stdint.h>

extern "C" void toy_centre(float* x, const float* shift, int64_t T, int64_t N, int64_t ldx, float scale) {
  for (int64_t t = T - 1; t >= 0; --t) {
    float* row = x + t * ldx;
    double sum = 0;
    for (int64_t i = N - 1; i >= 0; --i) sum += row[i];
    const float mean = (float)(sum / (double)N);
    for (int64_t i = N - 1; i >= 0; --i) {
      const float centred = (row[i] - mean) * scale;
      row[i] = shift != nullptr ? centred + shift[i] : centred;
    }
  }
}
