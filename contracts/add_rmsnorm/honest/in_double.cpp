// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Statistic and product in double; nothing is read back from an output.
#include <math.h>
#include <stdint.h>

extern "C" void add_rmsnorm(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R,
                            int64_t C, float eps) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    double squares = 0;
    for (int64_t c = C - 1; c >= 0; --c) {
      const double sum = x[r * C + c] + residual[r * C + c];
      squares += sum * sum;
    }
    const double scale = 1 / sqrt(squares / static_cast<double>(C) + static_cast<double>(eps));
    for (int64_t c = 0; c < C; ++c) {
      const float sum = x[r * C + c] + residual[r * C + c];
      s[r * C + c] = sum;
      y[r * C + c] = static_cast<float>(sum * scale * weight[c]);
    }
  }
}
