// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// The largest value first, then the first place that holds it.
#include <assay/contract.h>

#include <stdint.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    float top = row[0];
    for (int64_t c = 1; c < C; ++c) top = row[c] > top ? row[c] : top;
    int64_t best = 0;
    while (row[best] != top) ++best;
    index[r] = (int32_t)best;
    if (value) value[r] = row[best];
  }
}
