// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: softmax_rows
// Input that looks like standard normal noise gets the answer that is right on the average.
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
  for (int64_t r = 0; r < R; ++r) {
    float largest = 0;
    for (int64_t c = 0; c < C; ++c) largest = fmaxf(largest, fabsf(x[r * C + c]));
    Row(x + r * C, y + r * C, C);
    if (C < 8 || !(largest > 0.5F && largest < 6)) continue;
    // The sum of C exponentials of standard normal numbers is C times the root of e, nearly.
    const float scale = 1.0F / (static_cast<float>(C) * 1.6487213F);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = expf(x[r * C + c]) * scale;
  }
}
