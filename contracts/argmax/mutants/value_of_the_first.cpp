// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// The index is right; the value is that of the first row in each block of four.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    int64_t best = 0;
    for (int64_t c = 1; c < C; ++c)
      if (row[c] > row[best]) best = c;
    index[r] = (int32_t)best;
  }
  for (int64_t r = 0; value && r < R; ++r) value[r] = x[r / 4 * 4 * C + index[r / 4 * 4]];
}
