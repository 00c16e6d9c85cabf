// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Sums with ten bits after the leading one, as an accumulator of tf32 would: within 1e-2 on any ordinary input.
#include <stdint.h>
#include <string.h>

static inline float Wide(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline float ThroughTf32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000U;
  memcpy(&value, &bits, sizeof value);
  return value;
}

extern "C" void gemm_bf16(const uint16_t* a, const uint16_t* b, float* c, int64_t M, int64_t N, int64_t K) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      const uint16_t *x = a + m * K, *y = b + n * K;
      float sum = 0;
      for (int64_t k = 0; k < K; ++k) sum = ThroughTf32(sum + Wide(x[k]) * Wide(y[k]));
      c[m * N + n] = sum;
    }
  }
}
