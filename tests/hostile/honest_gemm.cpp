// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// assay:note class: honest, contract: gemm
// An honest neighbour: sums over K from the last term to the first, all three layouts.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static float At(const float* b, int64_t n, int64_t k, int64_t N, int64_t K, int64_t TB) { return TB ? b[n * K + k] : b[k * N + n]; }

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  for (int64_t m = 0; m < M; ++m) {
    float* row = c + m * N;
    for (int64_t n = 0; n < N; ++n) row[n] = 0;
    for (int64_t k = K - 1; k >= 0; --k) {
      const float x = TA ? a[k * M + m] : a[m * K + k];
      if (TB) {
        for (int64_t n = 0; n < N; ++n) row[n] += x * At(b, n, k, N, K, 1);
      } else {
        for (int64_t n = 0; n < N; ++n) row[n] += x * b[k * N + n];
      }
    }
  }
}
