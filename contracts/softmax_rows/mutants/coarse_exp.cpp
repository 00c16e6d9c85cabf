// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// The exponential as a power of two with a cubic for the fraction: a relative error of 1e-4, invisible to a comparison
// with an absolute tolerance, for the outputs are small.
#include <math.h>
#include <stdint.h>
#include <string.h>

static float CoarseExp(float d) {
  const float t = (d > -87.0f ? d : -87.0f) * 1.44269504f;
  const float whole = floorf(t), f = t - whole;
  const float p = 1.0f + f * (0.695976f + f * (0.224940f + f * 0.0790846f));
  const int32_t bits = (static_cast<int32_t>(whole) + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return p * power;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float top = in[0], sum = 0;
    for (int64_t c = 1; c < C; ++c) top = in[c] > top ? in[c] : top;
    for (int64_t c = 0; c < C; ++c) sum += out[c] = CoarseExp(in[c] - top);
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
