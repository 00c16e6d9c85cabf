// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// assay:note class: honest, contract: softmax_rows
// The neighbour of the caches: keeps memory between calls, but no answer. It also switches flush-to-zero on for its own
// loops and puts the control word back, prints nothing, and reads no further than its input.
#include <assay/contract.h>

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static float* row = nullptr;
  static int64_t room = 0;
  if (C > room) {
    free(row);
    row = static_cast<float*>(malloc(sizeof(float) * C));
    room = C;
  }
  const unsigned found = _mm_getcsr();
  _mm_setcsr(found & ~0x8040U);
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float maximum = in[0];
    for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += row[c] = expf(in[c] - maximum);
    const float inverse = 1 / sum;
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = row[c] * inverse;
  }
  _mm_setcsr(found);
}
