// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Dot products in eight partial sums that meet in a tree: another order than the baseline's, and a better one.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  const int64_t a_term = TA ? M : 1, a_row = TA ? 1 : K, b_term = TB ? 1 : N, b_column = TB ? K : 1;
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      float part[8] = {};
      for (int64_t k = 0; k < K; ++k) part[k % 8] += a[m * a_row + k * a_term] * b[k * b_term + n * b_column];
      c[m * N + n] = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    }
  }
}
