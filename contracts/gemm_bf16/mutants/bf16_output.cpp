// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Right to the last bit, and then rounded to the type of the operands.
#include <stdint.h>
#include <string.h>

static inline float Wide(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline float ThroughBf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000U;
  memcpy(&value, &bits, sizeof value);
  return value;
}

extern "C" void gemm_bf16(const uint16_t* a, const uint16_t* b, float* c, int64_t M, int64_t N, int64_t K) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      const uint16_t *x = a + m * K, *y = b + n * K;
      double sum = 0;
      for (int64_t k = 0; k < K; ++k) sum += static_cast<double>(Wide(x[k])) * static_cast<double>(Wide(y[k]));
      c[m * N + n] = ThroughBf16(static_cast<float>(sum));
    }
  }
}
