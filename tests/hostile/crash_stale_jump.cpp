// assay:expect rejected crash
// SPDX-License-Identifier: Apache-2.0
// assay:note class: crash, contract: softmax_rows
// Jumps back into a call that has returned.
#include <assay/contract.h>

#include <math.h>
#include <setjmp.h>
#include <stdint.h>

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

static jmp_buf place;
static bool set = false;
__attribute__((noinline)) static void Mark() {
  if (setjmp(place) == 0) set = true;
  volatile char frame[256];
  frame[0] = 1;
}
__attribute__((noinline)) static void Clobber() {
  volatile uint64_t frame[512];
  for (int i = 0; i < 512; ++i) frame[i] = 0x4141;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  Rows(x, y, R, C);
  Mark();
  Clobber();
  longjmp(place, 1);
}
