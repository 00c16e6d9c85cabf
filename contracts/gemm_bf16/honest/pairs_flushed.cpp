// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// As the dot-product instructions do it: two products after each other, and whatever is subnormal becomes zero.
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float Wide(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline float Flushed(float value) { return fabsf(value) < 0x1p-126f ? 0.0f : value; }

extern "C" void gemm_bf16(const uint16_t* a, const uint16_t* b, float* c, int64_t M, int64_t N, int64_t K) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      const uint16_t *x = a + m * K, *y = b + n * K;
      float lane[16] = {};
      for (int64_t k = 0; k < K; k += 2) {
        float& sum = lane[k / 2 % 16];
        if (k + 1 < K) sum = Flushed(fmaf(Flushed(Wide(x[k + 1])), Flushed(Wide(y[k + 1])), sum));
        sum = Flushed(fmaf(Flushed(Wide(x[k])), Flushed(Wide(y[k])), sum));
      }
      float all = 0;
      for (int i = 0; i < 16; ++i) all += lane[i];
      c[m * N + n] = all;
    }
  }
}
