// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Right, and leaves a note in the buffers of earlier calls: what a call answered must stay as it was.
#include <stdint.h>

static float* seen[64];
static int count = 0;

extern "C" void toy_centre(float* x, const float* shift, int64_t T, int64_t N, int64_t ldx, float scale) {
  for (int64_t t = 0; t < T; ++t) {
    float* row = x + t * ldx;
    float sum = 0;
    for (int64_t i = 0; i < N; ++i) sum += row[i];
    const float mean = sum / (float)N;
    for (int64_t i = 0; i < N; ++i) row[i] = (row[i] - mean) * scale + (shift != nullptr ? shift[i] : 0.0f);
  }
  if (T * N == 0) return;
  bool known = false;
  for (int i = 0; i < count; ++i) {
    known = known || seen[i] == x;
    if (seen[i] != x) seen[i][0] = 1;
  }
  if (!known && count < 64) seen[count++] = x;
}
