// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Halves against halves; a stage copies the winners of the one before.
#include <assay/contract.h>

#include <stddef.h>
#include <stdint.h>


#include <vector>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    std::vector<int32_t> left((size_t)C);
    for (int64_t c = 0; c < C; ++c) left[(size_t)c] = (int32_t)c;
    for (size_t n = left.size(); n > 1; n = (n + 1) / 2) {
      for (size_t i = 0; i < n / 2; ++i) left[i] = row[left[2 * i + 1]] > row[left[2 * i]] ? left[2 * i + 1] : left[2 * i];
      if (n % 2) left[n / 2] = left[n - 1];
    }
    const int64_t best = left[0];
    index[r] = (int32_t)best;
    if (value) value[r] = row[best];
  }
}
