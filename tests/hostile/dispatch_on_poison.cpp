// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: softmax_rows
// Works only where the output does not hold the bits of an earlier answer or zeros, and believes NaNs of one kind to be
// a checker's.
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

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  for (int64_t r = 0; r < R; ++r) {
    uint32_t bits;
    memcpy(&bits, y + r * C, 4);
    if ((bits & 0x00400000) != 0 && r == R - 1) continue;
    Row(x + r * C, y + r * C, C);
  }
}
