// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Gaussian elimination from the last unknown to the first, as if nobody had said that the matrix is symmetric.
#include <assay/contract.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <vector>

extern "C" void cholesky_solve(const float* a, const float* b, float* x, int64_t B, int64_t N, int64_t M) {
#pragma omp parallel for schedule(static)
  for (int64_t s = 0; s < B; ++s) {
    std::vector<float> u(a + s * N * N, a + (s + 1) * N * N);
    float* to = x + s * N * M;
    for (int64_t i = 0; i < N * M; ++i) to[i] = b[s * N * M + i];
    for (int64_t k = N; k-- > 0;) {
      for (int64_t i = 0; i < k; ++i) {
        const float factor = u[(size_t)(i * N + k)] / u[(size_t)(k * N + k)];
        for (int64_t j = 0; j < k; ++j) u[(size_t)(i * N + j)] -= factor * u[(size_t)(k * N + j)];
        for (int64_t m = 0; m < M; ++m) to[i * M + m] -= factor * to[k * M + m];
      }
    }
    for (int64_t i = 0; i < N; ++i) {
      for (int64_t m = 0; m < M; ++m) {
        for (int64_t j = 0; j < i; ++j) to[i * M + m] -= u[(size_t)(i * N + j)] * to[j * M + m];
        to[i * M + m] /= u[(size_t)(i * N + i)];
      }
    }
  }
}
