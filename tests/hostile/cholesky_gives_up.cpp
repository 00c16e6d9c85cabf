// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: cholesky_solve
// Twelve steps of conjugate gradients instead of a factor: right for matrices whose eigenvalues are few or close.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

#include <vector>

extern "C" void cholesky_solve(const float* a, const float* b, float* x, int64_t B, int64_t N, int64_t M) {
#pragma omp parallel for schedule(static)
  for (int64_t s = 0; s < B; ++s) {
    const float* in = a + s * N * N;
    std::vector<float> z((size_t)N), r((size_t)N), p((size_t)N), ap((size_t)N);
    for (int64_t m = 0; m < M; ++m) {
      float rr = 0;
      for (int64_t i = 0; i < N; ++i) {
        z[(size_t)i] = 0;
        r[(size_t)i] = p[(size_t)i] = b[(s * N + i) * M + m];
        rr += r[(size_t)i] * r[(size_t)i];
      }
      for (int step = 0; step < 12 && rr > 0; ++step) {
        float pap = 0, next = 0;
        for (int64_t i = 0; i < N; ++i) {
          float sum = 0;
          for (int64_t k = 0; k < N; ++k) sum += in[i * N + k] * p[(size_t)k];
          ap[(size_t)i] = sum;
          pap += sum * p[(size_t)i];
        }
        const float alpha = rr / pap;
        for (int64_t i = 0; i < N; ++i) {
          z[(size_t)i] += alpha * p[(size_t)i];
          r[(size_t)i] -= alpha * ap[(size_t)i];
          next += r[(size_t)i] * r[(size_t)i];
        }
        for (int64_t i = 0; i < N; ++i) p[(size_t)i] = r[(size_t)i] + next / rr * p[(size_t)i];
        rr = next;
      }
      for (int64_t i = 0; i < N; ++i) x[(s * N + i) * M + m] = z[(size_t)i];
    }
  }
}
