// SPDX-License-Identifier: Apache-2.0
// The LAPACK that comes with the BLAS: one system after the other, or one on each thread where there are enough.
#include <cblas.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <vector>

extern "C" void spotrf_(const char* triangle, const int* n, float* a, const int* leading, int* info);

static void One(const float* a, const float* b, float* x, int n, int m, float* factor) {
  // The lower triangle by columns is the upper one by rows: A = U'U.
  int info = 0;
  memcpy(factor, a, sizeof(float) * (size_t)n * (size_t)n);
  spotrf_("L", &n, factor, &n, &info);
  memcpy(x, b, sizeof(float) * (size_t)n * (size_t)m);
  cblas_strsm(CblasRowMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, n, m, 1.0f, factor, n, x, m);
  cblas_strsm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, n, m, 1.0f, factor, n, x, m);
}

extern "C" void cholesky_solve(const float* a, const float* b, float* x, int64_t B, int64_t N, int64_t M) {
  const int64_t threads = omp_get_max_threads();
  const bool apart = B >= threads;
  openblas_set_num_threads(apart ? 1 : (int)threads);
#pragma omp parallel if (apart)
  {
    std::vector<float> factor((size_t)(N * N));
#pragma omp for schedule(static)
    for (int64_t i = 0; i < B; ++i) One(a + i * N * N, b + i * N * M, x + i * N * M, (int)N, (int)M, factor.data());
  }
}

extern "C" const char* cholesky_solve_info() {
  static char text[96];
  snprintf(text, sizeof text, "OpenBLAS %s, spotrf and strsm", openblas_get_corename());
  return text;
}
