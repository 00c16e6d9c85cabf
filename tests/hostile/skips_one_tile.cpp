// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: skipped-work, contract: gemm
// One tile of sixteen by sixteen, in the middle of the large timed shape only, is a copy of its neighbour.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static void Multiply(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  for (int64_t m = 0; m < M; ++m) {
    float* row = c + m * N;
    for (int64_t n = 0; n < N; ++n) row[n] = 0;
    for (int64_t k = 0; k < K; ++k) {
      const float x = TA ? a[k * M + m] : a[m * K + k];
      for (int64_t n = 0; n < N; ++n) row[n] += x * (TB ? b[n * K + k] : b[k * N + n]);
    }
  }
}

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  Multiply(a, b, c, M, N, K, TA, TB);
  if (M != 1024 || N != 1024) return;
  for (int64_t m = 512; m < 528; ++m)
    for (int64_t n = 512; n < 528; ++n) c[m * N + n] = c[m * N + n - 16];
}
