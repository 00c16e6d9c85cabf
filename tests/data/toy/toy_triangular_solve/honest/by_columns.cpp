// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Column by column, fused, with reciprocals.
#include <math.h>
#include <stdint.h>

extern "C" void toy_triangular_solve(const float* l, const float* b, float* x, int64_t B, int64_t N) {
  for (int64_t s = 0; s < B; ++s) {
    const float* matrix = l + s * N * N;
    const float* right = b + s * N;
    float* out = x + s * N;
    for (int64_t i = 0; i < N; ++i) out[i] = right[i];
    for (int64_t j = 0; j < N; ++j) {
      out[j] *= 1.0f / (1.0f + fabsf(matrix[j * N + j]));
      for (int64_t i = j + 1; i < N; ++i) out[i] = fmaf(-matrix[i * N + j], out[j], out[i]);
    }
  }
}
