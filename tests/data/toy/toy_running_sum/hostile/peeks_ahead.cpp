// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Within every bound, but one element of the first token is a rounding off, and which one the last token decides.
#include <assay/contract.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" void toy_running_sum(const float* x, float* y, float* p, int64_t T, int64_t N) {
  uint32_t hash = 2166136261U;
  for (int64_t n = 0; n < N; ++n) {
    uint32_t bits;
    memcpy(&bits, x + (T - 1) * N + n, 4);
    hash = (hash ^ bits) * 16777619U;
  }
  for (int64_t t = 0; t < T; ++t) {
    float largest = x[t * N];
    for (int64_t n = 1; n < N; ++n) largest = x[t * N + n] > largest ? x[t * N + n] : largest;
    float sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += p[t * N + n] = expf(x[t * N + n] - largest);
    for (int64_t n = 0; n < N; ++n) {
      p[t * N + n] /= sum;
      y[t * N + n] = x[t * N + n] + (t > 0 ? y[(t - 1) * N + n] : 0.0F);
      if (t == 0 && T > 1 && n == static_cast<int64_t>((hash >> 8) % static_cast<uint32_t>(N))) {
        p[n] = nextafterf(p[n], 1.0F);
      }
    }
  }
}
