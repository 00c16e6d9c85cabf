// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: skipped-work, contract: gemm
// Every other term, counted twice: right on the average.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < K; ++k) {
        const float p = TA ? a[k * M + m] : a[m * K + k];
        const float q = TB ? b[n * K + k] : b[k * N + n];
        if (K > 8 && k % 2 == 1) continue;
        sum += (K > 8 && k + 1 < K ? 2 : 1) * p * q;
      }
      c[m * N + n] = sum;
    }
}
