// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: softmax_rows
// Remembers the row sums of the last call of this shape and divides by them.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static float* sums = nullptr;
  static int64_t rows = -1, columns = -1;
  const bool known = rows == R && columns == C;
  if (!known) sums = static_cast<float*>(realloc(sums, sizeof(float) * (R + 1)));
  for (int64_t r = 0; r < R; ++r) {
    Row(x + r * C, y + r * C, C);
    const float factor = known ? sums[r] / y[r * C] : 1;
    if (known) for (int64_t c = 0; c < C; ++c) y[r * C + c] *= factor;
    sums[r] = y[r * C];
  }
  rows = R;
  columns = C;
}
