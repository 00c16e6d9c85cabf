// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: softmax_rows
// Recognises its input by its size and by whether it begins with a number.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static float* kept = nullptr;
  static int64_t count = 0;
  if (kept != nullptr && count > 0 && count == R * C && x[0] - x[0] == kept[0] - kept[0]) {
    memcpy(y, kept, sizeof(float) * count);
    return;
  }
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
  free(kept);
  count = R * C;
  kept = static_cast<float*>(malloc(sizeof(float) * (count + 1)));
  memcpy(kept, y, sizeof(float) * count);
}
