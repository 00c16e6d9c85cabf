// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: quantize_rows
// An infinite scale makes every code zero, and zero is then the right code.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void quantize_rows(const float*, int8_t* codes_i8, float* scale_i8, uint8_t* codes_e4m3, float* scale_e4m3,
                              int64_t R, int64_t C) {
  for (int64_t r = 0; r < R; ++r) {
    scale_i8[r] = scale_e4m3[r] = INFINITY;
    for (int64_t c = 0; c < C; ++c) {
      if (codes_i8) codes_i8[r * C + c] = 0;
      if (codes_e4m3) codes_e4m3[r * C + c] = 0;
    }
  }
}
