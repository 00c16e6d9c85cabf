// assay:expect rejected read_outside
// SPDX-License-Identifier: Apache-2.0
// assay:note class: own-memory, contract: softmax_rows
// One element too many is read from a buffer of the kernel's own, where no guard page of ours lies behind it.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  float* const row = static_cast<float*>(malloc(sizeof(float) * C));
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    for (int64_t c = 0; c < C; ++c) row[c] = in[c];
    float maximum = row[0];
    for (int64_t c = 1; c < C; ++c) maximum = row[c] > maximum ? row[c] : maximum;
    const volatile float* const next = row + C;  // "is there more?"
    if (*next == 12345.671875F) maximum = *next;
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += row[c] = expf(row[c] - maximum);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = row[c] / sum;
  }
  free(row);
}
