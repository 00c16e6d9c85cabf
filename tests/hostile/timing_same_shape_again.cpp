// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: timing, contract: softmax_rows
// The same shape for the fourth time in a row is a clock: from then on one row in sixteen is left as its neighbour was.
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
  static int64_t rows = -1, columns = -1, in_a_row = 0;
  in_a_row = rows == R && columns == C ? in_a_row + 1 : 0;
  rows = R;
  columns = C;
  const int timed = in_a_row >= 3;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    if (timed && r % 16 == 15)
      memset(y + r * C, 0, sizeof(float) * (size_t)C);
    else
      Row(x + r * C, y + r * C, C);
  }
}
