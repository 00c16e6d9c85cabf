// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: skipped-work, contract: add_rmsnorm
// The mean square of every other element.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void add_rmsnorm(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R,
                            int64_t C, float eps) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    float squares = 0;
    for (int64_t c = 0; c < C; ++c) {
      const float sum = x[r * C + c] + residual[r * C + c];
      s[r * C + c] = sum;
      if (C < 32 || c % 2 == 0) squares += (C < 32 ? 1 : 2) * sum * sum;
    }
    const float scale = 1.0F / sqrtf(squares / static_cast<float>(C) + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = s[r * C + c] * scale * weight[c];
  }
}
