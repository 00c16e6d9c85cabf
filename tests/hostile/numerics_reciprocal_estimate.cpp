// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: approximate-intrinsic, contract: softmax_rows
// Divides by an estimate of the reciprocal that is good to twelve bits, without refinement.
#include <assay/contract.h>

#include <immintrin.h>
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
    const float* in = x + r * C;
    float* out = y + r * C;
    float maximum = in[0];
    for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
    const float scale = _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(sum)));
    for (int64_t c = 0; c < C; ++c) out[c] *= scale;
  }
}
