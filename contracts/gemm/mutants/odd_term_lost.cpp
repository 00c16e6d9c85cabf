// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Terms in pairs, and the odd one is forgotten.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    float* row = c + m * N;
    for (int64_t n = 0; n < N; ++n) row[n] = 0;
    for (int64_t k = 0; k < (K > 1 ? K / 2 * 2 : K); ++k) {
      const float x = TA ? a[k * M + m] : a[m * K + k];
      for (int64_t n = 0; n < N; ++n) {
        const float y = TB ? b[n * K + k] : b[k * N + n];
        row[n] += x * y;
      }
    }
  }
}
