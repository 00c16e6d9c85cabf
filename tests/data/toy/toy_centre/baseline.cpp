// SPDX-License-Identifier: Apache-2.0
// The plain loops; -O1 keeps the strict arm scalar.
#include <stdint.h>

extern "C" void toy_centre(float* x, const float* shift, int64_t T, int64_t N, int64_t ldx, float scale) {
  for (int64_t t = 0; t < T; ++t) {
    float* row = x + t * ldx;
    float sum = 0;
    for (int64_t i = 0; i < N; ++i) sum += row[i];
    const float mean = sum / (float)N;
    for (int64_t i = 0; i < N; ++i) row[i] = (row[i] - mean) * scale + (shift != 0 ? shift[i] : 0.0f);
  }
}
