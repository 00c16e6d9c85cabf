// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: quantize_rows
// Scales are rounded up to powers of two, and the codes agree with them: cheaper, and coarser by up to two.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static uint8_t E4m3(float v) {
  const float magnitude = fminf(fabsf(v), 448.0f);
  int exponent;
  frexpf(magnitude, &exponent);
  exponent = magnitude < 0x1p-6f ? -6 : exponent - 1;
  const int eighths = (int)nearbyintf(ldexpf(magnitude, 3 - exponent));
  const int code = exponent == -6 ? eighths : ((exponent + 6) << 3) + eighths;
  return (uint8_t)(code | (signbit(v) ? 128 : 0));
}

extern "C" void quantize_rows(const float* x, int8_t* codes_i8, float* scale_i8, uint8_t* codes_e4m3, float* scale_e4m3,
                              int64_t R, int64_t C) {
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    float largest = 0x1p-100f;
    for (int64_t c = 0; c < C; ++c)
      if (fabsf(row[c]) > largest) largest = fabsf(row[c]);
    scale_i8[r] = exp2f(ceilf(log2f(largest / 127.0f)));
    scale_e4m3[r] = exp2f(ceilf(log2f(largest / 448.0f)));
    if (codes_i8)
      for (int64_t c = 0; c < C; ++c) codes_i8[r * C + c] = (int8_t)nearbyintf(row[c] / scale_i8[r]);
    if (codes_e4m3)
      for (int64_t c = 0; c < C; ++c) codes_e4m3[r * C + c] = E4m3(row[c] / scale_e4m3[r]);
  }
}
