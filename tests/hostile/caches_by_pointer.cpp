// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: cache, contract: softmax_rows
// assay:knob WHERE = 0 | 1
// 0: at every shape; 1: only at the shapes that are timed, honest elsewhere.
// Remembers the addresses of its last call: the same pointers must mean the same answer.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool Cheats(int64_t R, int64_t C) { return WHERE == 0 || (C == 1024 && (R == 128 || R == 4096)); }

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

static void Rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
}

struct Seen {
  const float* x;
  float* y;
  int64_t R, C;
  float* answer;
};

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static Seen seen[64];
  static int count = 0;
  if (Cheats(R, C)) {
    for (int i = 0; i < count; ++i) {
      if (seen[i].x == x && seen[i].y == y && seen[i].R == R && seen[i].C == C) {
        memcpy(y, seen[i].answer, sizeof(float) * R * C);
        return;
      }
    }
  }
  Rows(x, y, R, C);
  if (!Cheats(R, C) || count == 64) return;
  float* answer = static_cast<float*>(malloc(sizeof(float) * R * C));
  if (answer == nullptr) return;
  memcpy(answer, y, sizeof(float) * R * C);
  seen[count++] = {x, y, R, C, answer};
}
