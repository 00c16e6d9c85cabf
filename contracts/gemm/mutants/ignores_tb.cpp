// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Takes B for untransposed where the shape does not object.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    float* row = c + m * N;
    for (int64_t n = 0; n < N; ++n) row[n] = 0;
    for (int64_t k = 0; k < K; ++k) {
      const float x = TA ? a[k * M + m] : a[m * K + k];
      for (int64_t n = 0; n < N; ++n) {
        const float y = TB && N != K ? b[n * K + k] : b[k * N + n];
        row[n] += x * y;
      }
    }
  }
}
