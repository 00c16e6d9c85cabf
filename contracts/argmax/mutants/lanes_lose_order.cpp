// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Sixteen lanes, and of equal lanes the first one wins, whatever column it found.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    float top[16];
    int64_t at[16];
    for (int64_t l = 0; l < 16; ++l) {
      top[l] = row[l < C ? l : 0];
      at[l] = l < C ? l : 0;
    }
    for (int64_t c = 16; c < C; ++c) {
      if (row[c] > top[c % 16]) {
        top[c % 16] = row[c];
        at[c % 16] = c;
      }
    }
    int64_t best = at[0];
    for (int64_t l = 1; l < 16; ++l)
      if (top[l] > row[best]) best = at[l];
    index[r] = (int32_t)best;
    if (value) value[r] = row[best];
  }
}
