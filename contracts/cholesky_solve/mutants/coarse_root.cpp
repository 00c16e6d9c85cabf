// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// A reciprocal root good to twelve bits for the pivots.
#include <assay/contract.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <vector>

extern "C" void cholesky_solve(const float* a, const float* b, float* x, int64_t B, int64_t N, int64_t M) {
#pragma omp parallel for schedule(static)
  for (int64_t s = 0; s < B; ++s) {
    const float* in = a + s * N * N;
    std::vector<float> l((size_t)(N * N));
    for (int64_t i = 0; i < N; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        float sum = in[i * N + j];
        for (int64_t k = 0; k < j; ++k) sum -= l[(size_t)(i * N + k)] * l[(size_t)(j * N + k)];
        l[(size_t)(i * N + j)] = i == j ? sqrtf(sum) * (1.0f + 0x1p-12f) : sum / l[(size_t)(j * N + j)];
      }
    }
    float* to = x + s * N * M;
    for (int64_t i = 0; i < N; ++i) {
      for (int64_t m = 0; m < M; ++m) {
        float sum = b[(s * N + i) * M + m];
        for (int64_t k = 0; k < i; ++k) sum -= l[(size_t)(i * N + k)] * to[k * M + m];
        to[i * M + m] = sum / l[(size_t)(i * N + i)];
      }
    }
    for (int64_t i = N; i-- > 0;) {
      for (int64_t m = 0; m < M; ++m) {
        float sum = to[i * M + m];
        for (int64_t k = i + 1; k < N; ++k) sum -= l[(size_t)(k * N + i)] * to[k * M + m];
        to[i * M + m] = sum / l[(size_t)(i * N + i)];
      }
    }
  }
}
