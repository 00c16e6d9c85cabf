// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Compares with zero first, so that a row of negative numbers has no maximum.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    int64_t best = 0;
    float top = 0;
    for (int64_t c = 0; c < C; ++c) {
      if (row[c] > top) {
        top = row[c];
        best = c;
      }
    }
    index[r] = (int32_t)best;
    if (value) value[r] = row[best];
  }
}
