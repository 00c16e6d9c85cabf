// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: add_rmsnorm
// Keeps the weights of the first call: a model's weights do not change, do they?
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

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

static float kept[16384];
static int64_t kept_columns = 0;

extern "C" void add_rmsnorm(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R,
                            int64_t C, float eps) {
  if (kept_columns != C) {
    memcpy(kept, weight, sizeof(float) * C);
    kept_columns = C;
  }
  Rows(x, residual, kept, y, s, R, C, eps);
}
