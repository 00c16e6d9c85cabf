// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Right wherever y lies elsewhere than x.
#include <stdint.h>

extern "C" void toy_neighbours(const float* x, float* y, int64_t T, int64_t N, int64_t ldx, float a) {
  for (int64_t t = 0; t < T; ++t) {
    const float* from = x + t * ldx;
    float* to = y + t * ldx;
    to[0] = a * from[0];
    for (int64_t n = 1; n < N; ++n) to[n] = a * from[n] + from[n - 1];
  }
}
