// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: cholesky_solve
// So large a solution that the right-hand side is nothing beside it, in the direction that the matrix shrinks the most: a
// residual that is measured by the solution alone may forgive it.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

#include <vector>

static void Factor(const float* in, float* l, int64_t N) {
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      float sum = in[i * N + j];
      for (int64_t k = 0; k < j; ++k) sum -= l[i * N + k] * l[j * N + k];
      l[i * N + j] = i == j ? sqrtf(sum) : sum / l[j * N + j];
    }
  }
}

static void Solve(const float* l, const float* b, float* to, int64_t N, int64_t M) {
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t m = 0; m < M; ++m) {
      float sum = b[i * M + m];
      for (int64_t k = 0; k < i; ++k) sum -= l[i * N + k] * to[k * M + m];
      to[i * M + m] = sum / l[i * N + i];
    }
  }
  for (int64_t i = N; i-- > 0;) {
    for (int64_t m = 0; m < M; ++m) {
      float sum = to[i * M + m];
      for (int64_t k = i + 1; k < N; ++k) sum -= l[k * N + i] * to[k * M + m];
      to[i * M + m] = sum / l[i * N + i];
    }
  }
}

extern "C" void cholesky_solve(const float* a, const float* b, float* x, int64_t B, int64_t N, int64_t M) {
#pragma omp parallel for schedule(static)
  for (int64_t s = 0; s < B; ++s) {
    std::vector<float> l((size_t)(N * N)), from((size_t)N, 1.0f), to((size_t)N);
    Factor(a + s * N * N, l.data(), N);
    for (int step = 0; step < 3; ++step) {
      Solve(l.data(), from.data(), to.data(), N, 1);
      float largest = 0;
      for (const float value : to) largest = fmaxf(largest, fabsf(value));
      for (int64_t i = 0; i < N; ++i) from[(size_t)i] = to[(size_t)i] / largest;
    }
    for (int64_t i = 0; i < N; ++i)
      for (int64_t m = 0; m < M; ++m) x[(s * N + i) * M + m] = 1e12f * from[(size_t)i];
  }
}
