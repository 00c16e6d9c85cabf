// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Starts with the second token.
#include <assay/contract.h>
#include <math.h>
#include <stdint.h>

extern "C" void toy_running_sum(const float* x, float* y, float* p, int64_t T, int64_t N) {
  for (int64_t t = 0; t < T; ++t) {
    float largest = x[t * N];
    for (int64_t n = 1; n < N; ++n) largest = x[t * N + n] > largest ? x[t * N + n] : largest;
    float sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += p[t * N + n] = expf(x[t * N + n] - largest);
    for (int64_t n = 0; n < N; ++n) {
      p[t * N + n] /= sum;
      y[t * N + n] = (t > 0 ? x[t * N + n] : 0.0F) + (t > 0 ? y[(t - 1) * N + n] : 0.0F);
    }
  }
}
