// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Elements of the matrix lose sixteen bits.
#include <math.h>
#include <stdint.h>
#include <string.h>

static float Narrow(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000U;
  memcpy(&x, &bits, sizeof x);
  return x;
}

extern "C" void toy_triangular_solve(const float* l, const float* b, float* x, int64_t B, int64_t N) {
  for (int64_t s = 0; s < B; ++s) {
    const float* matrix = l + s * N * N;
    const float* right = b + s * N;
    float* out = x + s * N;
    for (int64_t i = 0; i < N; ++i) {
      float rest = right[i];
      for (int64_t j = 0; j < i; ++j) rest -= Narrow(matrix[i * N + j]) * out[j];
      out[i] = rest / (1.0f + fabsf(matrix[i * N + i]));
    }
  }
}
