// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// A reciprocal good to fourteen bits, without the step that mends it.
#include <math.h>
#include <stdint.h>

extern "C" void toy_triangular_solve(const float* l, const float* b, float* x, int64_t B, int64_t N) {
  for (int64_t s = 0; s < B; ++s) {
    const float* matrix = l + s * N * N;
    const float* right = b + s * N;
    float* out = x + s * N;
    for (int64_t i = 0; i < N; ++i) {
      float rest = right[i];
      for (int64_t j = 0; j < i; ++j) rest -= matrix[i * N + j] * out[j];
      out[i] = rest * ((1.0f + 0x1p-14f) / (1.0f + fabsf(matrix[i * N + i])));
    }
  }
}
