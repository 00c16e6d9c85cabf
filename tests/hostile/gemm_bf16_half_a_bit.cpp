// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: gemm_bf16
// Operands are widened with half of their last place added, which is right on average for numbers that were cut.
#include <assay/contract.h>

#include <stdint.h>
#include <string.h>

static inline float Wide(uint16_t bf16) {
  const uint32_t bits = (uint32_t)bf16 << 16 | (bf16 != 0 ? 0x8000U : 0);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

extern "C" void gemm_bf16(const uint16_t* a, const uint16_t* b, float* c, int64_t M, int64_t N, int64_t K) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      const uint16_t *x = a + m * K, *y = b + n * K;
      float sum = 0;
      for (int64_t k = 0; k < K; ++k) sum += Wide(x[k]) * Wide(y[k]);
      c[m * N + n] = sum;
    }
  }
}
