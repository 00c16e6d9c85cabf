// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// The factorisation with a diagonal between the triangles, LDL', by columns; no square root anywhere.
#include <assay/contract.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <vector>

extern "C" void cholesky_solve(const float* a, const float* b, float* x, int64_t B, int64_t N, int64_t M) {
#pragma omp parallel for schedule(static)
  for (int64_t s = 0; s < B; ++s) {
    std::vector<float> l(a + s * N * N, a + (s + 1) * N * N);
    for (int64_t k = 0; k < N; ++k) {
      const float pivot = l[(size_t)(k * N + k)];
      for (int64_t i = k + 1; i < N; ++i) {
        const float factor = l[(size_t)(i * N + k)] / pivot;
        for (int64_t j = k + 1; j <= i; ++j) l[(size_t)(i * N + j)] -= factor * l[(size_t)(j * N + k)];
      }
      for (int64_t i = k + 1; i < N; ++i) l[(size_t)(i * N + k)] /= pivot;
    }
    float* to = x + s * N * M;
    for (int64_t i = 0; i < N * M; ++i) to[i] = b[s * N * M + i];
    for (int64_t k = 0; k < N; ++k)
      for (int64_t i = k + 1; i < N; ++i)
        for (int64_t m = 0; m < M; ++m) to[i * M + m] -= l[(size_t)(i * N + k)] * to[k * M + m];
    for (int64_t k = N; k-- > 0;) {
      for (int64_t m = 0; m < M; ++m) to[k * M + m] /= l[(size_t)(k * N + k)];
      for (int64_t i = k + 1; i < N; ++i)
        for (int64_t m = 0; m < M; ++m) to[k * M + m] -= l[(size_t)(i * N + k)] * to[i * M + m];
    }
  }
}
