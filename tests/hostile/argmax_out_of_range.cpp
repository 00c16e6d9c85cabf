// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: argmax
// Rows without a single positive element get the index C, of which a careless judge would read a key.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    int64_t best = 0;
    for (int64_t c = 1; c < C; ++c)
      if (row[c] > row[best]) best = c;
    index[r] = (int32_t)(row[best] > 0 ? best : C);
    if (value) value[r] = row[best];
  }
}
