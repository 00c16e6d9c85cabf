// SPDX-License-Identifier: Apache-2.0
// The BLAS itself, with as many threads as the budget.
#include <cblas.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  openblas_set_num_threads(omp_get_max_threads());
  cblas_sgemm(CblasRowMajor, TA ? CblasTrans : CblasNoTrans, TB ? CblasTrans : CblasNoTrans, static_cast<int>(M),
              static_cast<int>(N), static_cast<int>(K), 1.0f, a, static_cast<int>(TA ? M : K), b,
              static_cast<int>(TB ? K : N), 0.0f, c, static_cast<int>(N));
}

extern "C" const char* gemm_info() {
  static char text[96];
  snprintf(text, sizeof text, "OpenBLAS %s, sgemm", openblas_get_corename());
  return text;
}
