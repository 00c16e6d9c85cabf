// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Takes the mean square of x alone, as when the add is fused and the statistic is left where it was.
#include <math.h>
#include <stdint.h>

extern "C" void add_rmsnorm(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R,
                            int64_t C, float eps) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    float squares = 0;
    for (int64_t c = 0; c < C; ++c) {
      s[r * C + c] = x[r * C + c] + residual[r * C + c];
      squares += x[r * C + c] * x[r * C + c];
    }
    const float scale = 1.0f / sqrtf(squares / static_cast<float>(C) + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = s[r * C + c] * scale * weight[c];
  }
}
