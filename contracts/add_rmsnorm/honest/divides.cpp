// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Divides by the root instead of multiplying, and scales weight first; four partial sums.
#include <math.h>
#include <stdint.h>

extern "C" void add_rmsnorm(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R,
                            int64_t C, float eps) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    float squares[4] = {0, 0, 0, 0};
    for (int64_t c = 0; c < C; ++c) {
      const float sum = x[r * C + c] + residual[r * C + c];
      s[r * C + c] = sum;
      squares[c % 4] += sum * sum;
    }
    const float mean = ((squares[0] + squares[1]) + (squares[2] + squares[3])) / static_cast<float>(C);
    const float rms = sqrtf(mean + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = s[r * C + c] * (weight[c] / rms);
  }
}
