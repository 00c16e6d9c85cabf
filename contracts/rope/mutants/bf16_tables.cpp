// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Tables in bf16, "since they are below one anyway".
#include <stdint.h>
#include <string.h>

static float ThroughBf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000U;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void Turn(float* x, int64_t heads, int64_t D, const float* c, const float* s) {
  const int64_t half = D / 2;
  for (int64_t h = 0; h < heads; ++h, x += D) {
    for (int64_t i = 0; i < half; ++i) {
      const float a = x[i], b = x[i + half], cosine = ThroughBf16(c[i]), sine = ThroughBf16(s[i]);
      x[i] = a * cosine - b * sine;
      x[i + half] = b * cosine + a * sine;
    }
  }
}

extern "C" void rope(float* q, float* k, const int32_t* positions, const float* cosines, const float* sines, int64_t T,
                     int64_t H, int64_t KV, int64_t D, int64_t) {
  const int64_t half = D / 2;
#pragma omp parallel for
  for (int64_t t = 0; t < T; ++t) {
    const float *c = cosines + positions[t] * half, *s = sines + positions[t] * half;
    Turn(q + t * H * D, H, D, c, s);
    Turn(k + t * KV * D, KV, D, c, s);
  }
}
