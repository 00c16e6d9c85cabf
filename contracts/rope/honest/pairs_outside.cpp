// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Pair by pair, all heads of a token for each; q first for all tokens, then k.
#include <stdint.h>

extern "C" void rope(float* q, float* k, const int32_t* positions, const float* cosines, const float* sines, int64_t T,
                     int64_t H, int64_t KV, int64_t D, int64_t) {
  const int64_t half = D / 2;
  for (int which = 0; which < 2; ++which) {
    float* x = which == 0 ? q : k;
    const int64_t heads = which == 0 ? H : KV;
#pragma omp parallel for
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t i = half - 1; i >= 0; --i) {
        const float cosine = cosines[positions[t] * half + i], sine = sines[positions[t] * half + i];
        for (int64_t h = 0; h < heads; ++h) {
          float* at = x + (t * heads + h) * D + i;
          const float a = at[0], b = at[half];
          at[half] = a * sine + b * cosine;
          at[0] = cosine * a - sine * b;
        }
      }
    }
  }
}
