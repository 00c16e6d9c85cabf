// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Whole groups of four only: right wherever B*N is a multiple of four.
#include <stdint.h>

extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {
  for (int64_t i = 0; i < B * N / 4 * 4; ++i) y[i] = a * x[i] + b;
}
