// assay:expect rejected wrote_outside
// SPDX-License-Identifier: Apache-2.0
// Right, and uses the gap behind each row as if it were its own.
#include <stdint.h>

extern "C" void toy_centre(float* x, const float* shift, int64_t T, int64_t N, int64_t ldx, float scale) {
  for (int64_t t = 0; t < T; ++t) {
    float* row = x + t * ldx;
    float sum = 0;
    for (int64_t i = 0; i < N; ++i) sum += row[i];
    const float mean = sum / (float)N;
    for (int64_t i = 0; i < N; ++i) row[i] = (row[i] - mean) * scale + (shift != nullptr ? shift[i] : 0.0f);
    if (ldx > N && t + 1 < T) row[N] = mean;
  }
}
