// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: argmax
// Of normal logits one above four is most likely the largest: the rest of the row is not read.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    int64_t best = 0;
    for (int64_t c = 1; c < C && row[best] < 4; ++c)
      if (row[c] > row[best]) best = c;
    index[r] = (int32_t)best;
    if (value) value[r] = row[best];
  }
}
