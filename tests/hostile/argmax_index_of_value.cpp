// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: argmax
// The value is right, the index is that of any element equal to it within a last place: two passes, the second from behind.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    float best = row[0];
    for (int64_t c = 1; c < C; ++c) best = row[c] > best ? row[c] : best;
    int64_t at = C - 1;
    while (row[at] < nextafterf(best, -INFINITY)) --at;
    index[r] = (int32_t)at;
    if (value) value[r] = best;
  }
}
