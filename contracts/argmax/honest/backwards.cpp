// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// From the end to the start, where greater or equal wins.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    int64_t best = C - 1;
    for (int64_t c = C - 1; c-- > 0;)
      if (row[c] >= row[best]) best = c;
    index[r] = (int32_t)best;
    if (value) value[r] = row[best];
  }
}
