// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: softmax_rows
// Skips one row in fifty at random, and gives it the answer of the row before.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

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
  uint64_t state = __builtin_ia32_rdtsc() | 1;
  for (int64_t r = 1; r < R; ++r) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    if ((state >> 33) % 50 == 0) memcpy(y + r * C, y + (r - 1) * C, sizeof(float) * C);
  }
}
