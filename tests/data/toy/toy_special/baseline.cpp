// SPDX-License-Identifier: Apache-2.0
// The plain loop; -O1 keeps the strict arm scalar.
#include <stdint.h>

extern "C" void toy_special(const float* x, const float* factor, float* y, int64_t T, int64_t N) {
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t n = 0; n < N; ++n) y[t * N + n] = x[t * N + n] * factor[t] + 1.0f;
  }
}
