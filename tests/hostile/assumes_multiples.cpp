// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: coverage, contract: gemm
// Works on multiples of sixteen columns and leaves what is left over at zero.
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
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = N / 16 * 16; n < N; ++n) c[m * N + n] = 0;
}
