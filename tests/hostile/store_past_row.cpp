// assay:expect rejected wrote_outside
// SPDX-License-Identifier: Apache-2.0
// assay:note class: memory, contract: gemm
// Stores the last columns of the last row by a whole vector.
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
  const int64_t first = N / 16 * 16;
  if (first == N) return;
  float* last = c + (M - 1) * N + first;
  volatile float* past = last;
  for (int64_t n = N - first; n < 16; ++n) past[n] = 0;
}
