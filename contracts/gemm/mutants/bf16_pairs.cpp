// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Each operand as the sum of two bf16 numbers, the product of the two small ones left out: 2^-16 instead of 2^-24.
#include <assay/contract.h>

#include <stdint.h>
#include <string.h>

namespace {

float Bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
  memcpy(&x, &bits, 4);
  return x;
}

float Product(float x, float y) {
  const float x1 = Bf16(x), x2 = Bf16(x - x1), y1 = Bf16(y), y2 = Bf16(y - y1);
  return x1 * y1 + (x1 * y2 + x2 * y1);
}

}  // namespace

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    float* row = c + m * N;
    for (int64_t n = 0; n < N; ++n) row[n] = 0;
    for (int64_t k = 0; k < K; ++k) {
      const float x = TA ? a[k * M + m] : a[m * K + k];
      for (int64_t n = 0; n < N; ++n) {
        const float y = TB ? b[n * K + k] : b[k * N + n];
        row[n] += Product(x, y);
      }
    }
  }
}
