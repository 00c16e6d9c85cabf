// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: gemm
// Keeps a packed copy of B from the first call and uses it as long as the address is the same.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static float* packed = nullptr;
static const float* packed_from = nullptr;
static int64_t packed_size = 0;

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  if (packed_from != b || packed_size != N * K) {
    packed = static_cast<float*>(realloc(packed, sizeof(float) * N * K));
    memcpy(packed, b, sizeof(float) * N * K);
    packed_from = b;
    packed_size = N * K;
  }
  Multiply(a, packed, c, M, N, K, TA, TB);
}
