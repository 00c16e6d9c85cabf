// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// As if entry i named row i.
#include <stdint.h>

extern "C" void toy_gather(const float* x, const int32_t*, const int64_t* begin, float* y, int64_t R, int64_t N, int64_t,
                           int64_t S, float gain) {
  for (int64_t s = 0; s < S; ++s) {
    for (int64_t n = 0; n < N; ++n) {
      float sum = 0;
      for (int64_t i = begin[s]; i < begin[s + 1]; ++i) sum += x[i % R * N + n];
      y[s * N + n] = gain * sum;
    }
  }
}
