// assay:expect rejected machine_state
// SPDX-License-Identifier: Apache-2.0
// assay:note class: machine-state, contract: softmax_rows
// Switches flush-to-zero on in every thread of the team but the first, whose control word is looked at after each call,
// and leaves it on for whatever these threads compute next.
#include <assay/contract.h>

#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel
  {
    if (omp_get_thread_num() != 0) _mm_setcsr(_mm_getcsr() | 0x8040);
#pragma omp for schedule(static)
    for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
  }
}
