// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Converts where it should round.
#include <math.h>
#include <stdint.h>

extern "C" void toy_dynamic_codes(const float* x, int8_t* q, float* scale, int64_t R, int64_t C) {
  for (int64_t r = 0; r < R; ++r) {
    float largest = 0;
    for (int64_t c = 0; c < C; ++c) largest = fmaxf(largest, fabsf(x[r * C + c]));
    scale[r] = largest / 127.0f;
    for (int64_t c = 0; c < C; ++c) {
      const float value = x[r * C + c];
      q[r * C + c] = (int8_t)(value / scale[r]);
    }
  }
}
