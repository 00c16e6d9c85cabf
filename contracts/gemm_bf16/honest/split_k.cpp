// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// K in four parts of equal length that meet in a tree, as a split over threads would.
#include <stdint.h>
#include <string.h>

static inline float Wide(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

extern "C" void gemm_bf16(const uint16_t* a, const uint16_t* b, float* c, int64_t M, int64_t N, int64_t K) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      const uint16_t *x = a + m * K, *y = b + n * K;
      float part[4] = {};
      const int64_t length = (K + 3) / 4;
      for (int64_t k = 0; k < K; ++k) part[k / length] += Wide(x[k]) * Wide(y[k]);
      c[m * N + n] = (part[0] + part[1]) + (part[2] + part[3]);
    }
  }
}
