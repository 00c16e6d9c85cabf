// assay:expect rejected forbidden_call
// SPDX-License-Identifier: Apache-2.0
// assay:note class: late-work, contract: gemm
// The contract gives one thread; this takes four.
#include <assay/contract.h>

#include <math.h>
#include <omp.h>
#include <stdint.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
#pragma omp parallel for num_threads(4) schedule(static)
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t first = M * i / 4, last = M * (i + 1) / 4;
    for (int64_t m = first; m < last; ++m)
      for (int64_t n = 0; n < N; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < K; ++k) sum += (TA ? a[k * M + m] : a[m * K + k]) * (TB ? b[n * K + k] : b[k * N + n]);
        c[m * N + n] = sum;
      }
  }
}
