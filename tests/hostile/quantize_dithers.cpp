// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: quantize_rows
// Stochastic rounding, unbiased and better for some trainings; the contract says to the nearest.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static int8_t Dithered(float code, uint32_t place) {
  const float down = floorf(code), u = (float)((place * 2654435761U) >> 8) * 0x1p-24f;
  return (int8_t)(down + (code - down > u ? 1 : 0));
}

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
    scale_i8[r] = largest / 127.0f;
    scale_e4m3[r] = largest / 448.0f;
    if (codes_i8)
      for (int64_t c = 0; c < C; ++c) codes_i8[r * C + c] = Dithered(row[c] / scale_i8[r], (uint32_t)(r * C + c));
    if (codes_e4m3)
      for (int64_t c = 0; c < C; ++c) codes_e4m3[r * C + c] = E4m3(row[c] / scale_e4m3[r]);
  }
}
