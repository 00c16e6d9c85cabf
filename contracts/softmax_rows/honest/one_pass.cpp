// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Maximum and sum in one pass, the sum rescaled when the maximum rises; a single thread.
#include <math.h>
#include <stdint.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float top = in[0], sum = 1;
    for (int64_t c = 1; c < C; ++c) {
      if (in[c] > top) {
        sum = sum * expf(top - in[c]) + 1;
        top = in[c];
      } else {
        sum += expf(in[c] - top);
      }
    }
    for (int64_t c = 0; c < C; ++c) out[c] = expf(in[c] - top) / sum;
  }
}
