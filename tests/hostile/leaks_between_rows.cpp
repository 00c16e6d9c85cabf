// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: cross-talk, contract: softmax_rows
// Every element is within its bound, but in each row one of them is a rounding off, and which one hangs on all the
// other rows: what a row answers must depend on that row alone.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
  if (C < 8) return;
  uint64_t hash = 14695981039346656037U;
  for (int64_t i = 0; i < R * C; ++i) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    hash = (hash ^ bits) * 1099511628211U;
  }
  for (int64_t r = 0; r < R; ++r) {
    float* const touched = y + r * C + static_cast<int64_t>((hash >> 20) % static_cast<uint64_t>(C));
    *touched = nextafterf(*touched, 1.0F);
  }
}
