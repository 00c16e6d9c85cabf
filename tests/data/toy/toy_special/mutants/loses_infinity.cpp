// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Infinities become the largest number.
#include <stdint.h>

extern "C" void toy_special(const float* x, const float* factor, float* y, int64_t T, int64_t N) {
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t n = 0; n < N; ++n) {
      const float value = x[t * N + n] * factor[t] + 1.0f;
      y[t * N + n] = value > 3e38f ? 3.4028235e38f : value < -3e38f ? -3.4028235e38f : value;
    }
  }
}
