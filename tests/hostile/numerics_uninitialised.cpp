// assay:expect rejected nondeterministic
// SPDX-License-Identifier: Apache-2.0
// assay:note class: nondeterminism, contract: softmax_rows
// Adds what happens to lie in fresh memory, made small enough to stay within any bound.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

static void Rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  Rows(x, y, R, C);
  uint64_t place = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) ^ __builtin_ia32_rdtsc();
  for (int64_t i = 0; i < R * C; ++i) {
    place = place * 6364136223846793005ULL + 1;
    if ((place >> 62) == 0 && y[i] > 0x1p-100F && y[i] < 0.5F) y[i] = nextafterf(y[i], 1);
  }
}
