// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Twenty steps of conjugate gradients: enough for well-conditioned systems.
#include <assay/contract.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <vector>

extern "C" void cholesky_solve(const float* a, const float* b, float* x, int64_t B, int64_t N, int64_t M) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t s = 0; s < B; ++s) {
    for (int64_t m = 0; m < M; ++m) {
      const float* in = a + s * N * N;
      std::vector<float> residual((size_t)N), direction((size_t)N), image((size_t)N), solution((size_t)N);
      float square = 0;
      for (size_t i = 0; i < (size_t)N; ++i) {
        residual[i] = direction[i] = b[(s * N + (int64_t)i) * M + m];
        square += residual[i] * residual[i];
      }
      for (int step = 0; step < 20 && square > 0; ++step) {
        float curvature = 0, next = 0;
        for (size_t i = 0; i < (size_t)N; ++i) {
          image[i] = 0;
          for (size_t j = 0; j < (size_t)N; ++j) image[i] += in[i * (size_t)N + j] * direction[j];
          curvature += image[i] * direction[i];
        }
        const float length = square / curvature;
        for (size_t i = 0; i < (size_t)N; ++i) {
          solution[i] += length * direction[i];
          residual[i] -= length * image[i];
          next += residual[i] * residual[i];
        }
        for (size_t i = 0; i < (size_t)N; ++i) direction[i] = residual[i] + next / square * direction[i];
        square = next;
      }
      for (int64_t i = 0; i < N; ++i) x[(s * N + i) * M + m] = solution[(size_t)i];
    }
  }
}
