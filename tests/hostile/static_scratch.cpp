// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: memory, contract: gemm
// Gathers a column of at most a thousand terms into a static buffer, however many there are.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static float column[1000];

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  for (int64_t n = 0; n < N; ++n) {
    const int64_t terms = K < 1000 ? K : 1000;
    for (int64_t k = 0; k < terms; ++k) column[k] = TB ? b[n * K + k] : b[k * N + n];
    for (int64_t m = 0; m < M; ++m) {
      float sum = 0;
      for (int64_t k = 0; k < terms; ++k) sum += (TA ? a[k * M + m] : a[m * K + k]) * column[k];
      c[m * N + n] = sum;
    }
  }
}
