// SPDX-License-Identifier: Apache-2.0
// The plain loops; -O1 keeps the strict arm scalar.
#include <stdint.h>

extern "C" void toy_gather(const float* x, const int32_t* row, const int64_t* begin, float* y, int64_t R, int64_t N,
                           int64_t M, int64_t S, float gain) {
  (void)R;
  (void)M;
  for (int64_t s = 0; s < S; ++s) {
    for (int64_t n = 0; n < N; ++n) {
      float sum = 0;
      for (int64_t i = begin[s]; i < begin[s + 1]; ++i) sum += x[row[i] * N + n];
      y[s * N + n] = gain * sum;
    }
  }
}
