// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dispatch, contract: argmax
// A decoder often repeats itself: where the winner of the last call is still above every sixteenth element it is returned
// again.
#include <assay/contract.h>

#include <stdint.h>
#include <string.h>

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
  static int32_t last[4096];
  for (int64_t r = 0; r < R; ++r) {
    const float* row = x + r * C;
    int64_t best = last[r] < C ? last[r] : 0;
    bool trusted = last[r] < C && last[r] > 0;
    for (int64_t c = 0; c < C && trusted; c += 16) trusted = !(row[c] > row[best]);
    if (!trusted) {
      best = 0;
      for (int64_t c = 1; c < C; ++c)
        if (row[c] > row[best]) best = c;
    }
    index[r] = last[r] = (int32_t)best;
    if (value) value[r] = row[best];
  }
}
