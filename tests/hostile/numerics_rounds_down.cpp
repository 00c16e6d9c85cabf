// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: precision-downgrade, contract: gemm
// Computes every product with rounding towards zero, and puts the mode back: a bias of half a unit in every sum.
#include <assay/contract.h>

#include <immintrin.h>
#include <math.h>
#include <stdint.h>

static void Multiply(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  for (int64_t m = 0; m < M; ++m) {
    float* row = c + m * N;
    for (int64_t n = 0; n < N; ++n) row[n] = 0;
    for (int64_t k = 0; k < K; ++k) {
      const float x = TA ? a[k * M + m] : a[m * K + k];
      for (int64_t n = 0; n < N; ++n) row[n] += x * (TB ? b[n * K + k] : b[k * N + n]);
    }
  }
}

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x6000);
  asm volatile("" : : : "memory");
  Multiply(a, b, c, M, N, K, TA, TB);
  asm volatile("" : : : "memory");
  _mm_setcsr(before);
}
