// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: stale-output, contract: gemm
// Multiplies the old output by zero instead of overwriting it: whatever lay there decides.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  for (int64_t i = 0; i < M * N; ++i) c[i] *= 0.0F;
  for (int64_t m = 0; m < M; ++m)
    for (int64_t k = 0; k < K; ++k)
      for (int64_t n = 0; n < N; ++n)
        c[m * N + n] += (TA ? a[k * M + m] : a[m * K + k]) * (TB ? b[n * K + k] : b[k * N + n]);
}
