// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: add_rmsnorm
// At the timed shapes the square root is that of the previous row.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static void Rows(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R, int64_t C,
                 float eps) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    float squares = 0;
    for (int64_t c = 0; c < C; ++c) {
      const float sum = x[r * C + c] + residual[r * C + c];
      s[r * C + c] = sum;
      squares += sum * sum;
    }
    const float scale = 1.0F / sqrtf(squares / static_cast<float>(C) + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = s[r * C + c] * scale * weight[c];
  }
}

extern "C" void add_rmsnorm(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R,
                            int64_t C, float eps) {
  Rows(x, residual, weight, y, s, R, C, eps);
  if (C != 1024 || (R != 64 && R != 4096)) return;
  for (int64_t r = 1; r < R; r += 7) {
    float squares = 0;
    for (int64_t c = 0; c < C; ++c) squares += s[(r - 1) * C + c] * s[(r - 1) * C + c];
    const float scale = 1.0F / sqrtf(squares / static_cast<float>(C) + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = s[r * C + c] * scale * weight[c];
  }
}
