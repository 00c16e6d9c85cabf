// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: softmax_rows
// Honest for the first three calls of a process, and short of the last row from then on.
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
  static int calls = 0;
  const int64_t last = ++calls > 3 && R > 0 ? R - 1 : R;
  for (int64_t r = 0; r < last; ++r) Row(x + r * C, y + r * C, C);
  if (last < R) memcpy(y + last * C, y, sizeof(float) * C);
}
