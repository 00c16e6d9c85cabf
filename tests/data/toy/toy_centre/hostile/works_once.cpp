// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// Right the first time it is called, and idle from then on.
#include <stdint.h>

static int calls = 0;

extern "C" void toy_centre(float* x, const float* shift, int64_t T, int64_t N, int64_t ldx, float scale) {
  if (T * N > 0 && calls++ > 0) return;
  for (int64_t t = 0; t < T; ++t) {
    float* row = x + t * ldx;
    float sum = 0;
    for (int64_t i = 0; i < N; ++i) sum += row[i];
    const float mean = sum / (float)N;
    for (int64_t i = 0; i < N; ++i) row[i] = (row[i] - mean) * scale + (shift != nullptr ? shift[i] : 0.0f);
  }
}
