// assay:expect rejected audit_mismatch
// SPDX-License-Identifier: Apache-2.0
// assay:note class: timing, contract: softmax_rows
// Honest while its process is young, as processes of a check are; half of the rows once it is as old as those of a clock get.
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

static int Old() {
  static uint64_t born = 0;
  const uint64_t now = __builtin_ia32_rdtsc();
  if (born == 0) born = now;
  return now - born > (uint64_t)1500 * 1000 * 1000;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  const int64_t last = Old() ? (R + 1) / 2 : R;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < last; ++r) Row(x + r * C, y + r * C, C);
  if (last < R) memcpy(y + last * C, y, sizeof(float) * (size_t)((R - last) * C));
}
