// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: rope
// In the timed prefill the last eighth of the tokens keeps its keys as they were.
#include <assay/contract.h>

#include <stdint.h>

static void Turn(float* x, int64_t heads, int64_t D, const float* c, const float* s) {
  const int64_t half = D / 2;
  for (int64_t h = 0; h < heads; ++h, x += D) {
    for (int64_t i = 0; i < half; ++i) {
      const float a = x[i], b = x[i + half];
      x[i] = a * c[i] - b * s[i];
      x[i + half] = b * c[i] + a * s[i];
    }
  }
}

extern "C" void rope(float* q, float* k, const int32_t* positions, const float* cosines, const float* sines, int64_t T,
                     int64_t H, int64_t KV, int64_t D, int64_t) {
  const int64_t half = D / 2;
  const int64_t turned = T == 1024 ? T - T / 8 : T;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < T; ++t) {
    const float *c = cosines + positions[t] * half, *s = sines + positions[t] * half;
    Turn(q + t * H * D, H, D, c, s);
    if (t < turned) Turn(k + t * KV * D, KV, D, c, s);
  }
}
