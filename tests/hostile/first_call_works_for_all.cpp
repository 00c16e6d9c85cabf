// assay:expect rejected wrote_outside
// SPDX-License-Identifier: Apache-2.0
// assay:note class: concentration, contract: softmax_rows
// The first call of a unit computes the answer of every slot that earlier units were given, and the others return at once:
// a median over single calls would see the empty ones. A slot that no call of this unit was given betrays it.
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

struct Slot {
  const float* x;
  float* y;
};

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static Slot slots[64];
  static int count = 0;
  static int64_t rows = 0, columns = 0;
  if (R != rows || C != columns) count = 0;
  rows = R;
  columns = C;
  bool known = false;
  for (int i = 0; i < count; ++i) known = known || slots[i].y == y;
  if (!known && count < 64) slots[count++] = {x, y};
  if (R == 0 || y[0] == y[0]) return;  // no longer poison: an earlier call of this unit wrote it
  for (int i = 0; i < count; ++i) {
    if (slots[i].y[0] == slots[i].y[0]) continue;
    for (int64_t r = 0; r < R; ++r) Row(slots[i].x + r * C, slots[i].y + r * C, C);
  }
}
