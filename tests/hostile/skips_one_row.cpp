// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: skipped-work, contract: softmax_rows
// Gives one row of four thousand a neighbour's answer, at one timed shape only: too little for a draw of slices to be sure
// of; the exam compares them all.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) Row(x + (R == 4096 && r == 1234 ? r - 1 : r) * C, y + r * C, C);
}
