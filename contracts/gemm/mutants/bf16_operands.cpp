// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Operands rounded to bf16, sums in f32: the accuracy of another format under the name of f32.
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
        row[n] += Bf16(x) * Bf16(y);
      }
    }
  }
}
