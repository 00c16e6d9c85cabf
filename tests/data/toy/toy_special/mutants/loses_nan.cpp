// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// NaN becomes zero, as a masked load would have it.
#include <stdint.h>

extern "C" void toy_special(const float* x, const float* factor, float* y, int64_t T, int64_t N) {
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t n = 0; n < N; ++n) {
      const float value = x[t * N + n] * factor[t] + 1.0f;
      y[t * N + n] = value != value ? 0.0f : value;
    }
  }
}
