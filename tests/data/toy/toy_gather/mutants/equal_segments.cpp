// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// As if all segments were of one length.
#include <stdint.h>

extern "C" void toy_gather(const float* x, const int32_t* row, const int64_t*, float* y, int64_t, int64_t N, int64_t M,
                           int64_t S, float gain) {
  for (int64_t s = 0; s < S; ++s) {
    for (int64_t n = 0; n < N; ++n) {
      float sum = 0;
      for (int64_t i = s * M / S; i < (s + 1) * M / S; ++i) sum += x[row[i] * N + n];
      y[s * N + n] = gain * sum;
    }
  }
}
