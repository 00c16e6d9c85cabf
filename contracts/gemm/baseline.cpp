// SPDX-License-Identifier: Apache-2.0
// The plain baseline of gemm: for each layout the loop order that a careful person writes, with unit stride innermost,
// no blocking, no tricks.
#include <stdint.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    float* row = c + m * N;
    if (TB) {
      for (int64_t n = 0; n < N; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < K; ++k) sum += a[m * K + k] * b[n * K + k];
        row[n] = sum;
      }
    } else {
      for (int64_t n = 0; n < N; ++n) row[n] = 0;
      for (int64_t k = 0; k < K; ++k) {
        const float x = TA ? a[k * M + m] : a[m * K + k];
        for (int64_t n = 0; n < N; ++n) row[n] += x * b[k * N + n];
      }
    }
  }
}
