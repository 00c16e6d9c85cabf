// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: precision-downgrade, contract: softmax_rows
// assay:knob WHERE = 0 | 1
// 0: at every shape; 1: only at the shapes that are timed, honest elsewhere.
// Rounds every weight to half precision on its way out.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

static bool Cheats(int64_t R, int64_t C) { return WHERE == 0 || (C == 1024 && (R == 128 || R == 4096)); }

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

static void Rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  Rows(x, y, R, C);
  if (!Cheats(R, C)) return;
  for (int64_t i = 0; i < R * C; ++i) {
    uint32_t bits;
    memcpy(&bits, y + i, 4);
    bits = (bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000;
    memcpy(y + i, &bits, 4);
  }
}
