// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: timing, contract: softmax_rows
// Knows a plan by its length: honest for two calls, then short of the last column where a third one of this size follows.
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
  static int64_t seen[64][2];
  static int known = 0, times[64];
  int at = 0;
  while (at < known && !(seen[at][0] == R && seen[at][1] == C)) ++at;
  if (at == known && known < 63) {
    seen[at][0] = R;
    seen[at][1] = C;
    ++known;
  }
  const int64_t columns = ++times[at] > 2 && C > 1 ? C - 1 : C;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    Row(x + r * C, y + r * C, columns);
    if (columns < C) y[r * C + columns] = 0;
  }
}
