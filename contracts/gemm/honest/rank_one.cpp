// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Four rows of C at a time, each term a rank-one update of them: every element still sums its terms in order.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; m += 4) {
    const int64_t end = m + 4 < M ? m + 4 : M;
    for (int64_t i = m; i < end; ++i)
      for (int64_t n = 0; n < N; ++n) c[i * N + n] = 0;
    for (int64_t k = 0; k < K; ++k)
      for (int64_t i = m; i < end; ++i) {
        const float x = TA ? a[k * M + i] : a[i * K + k];
        for (int64_t n = 0; n < N; ++n) c[i * N + n] += x * (TB ? b[n * K + k] : b[k * N + n]);
      }
  }
}
