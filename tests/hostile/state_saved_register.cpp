// assay:expect rejected machine_state
// SPDX-License-Identifier: Apache-2.0
// assay:note class: machine-state, contract: softmax_rows
// Does not restore a register that belongs to its caller.
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

static void Rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
}

extern "C" __attribute__((used, noinline)) void Body(const float* x, float* y, int64_t R, int64_t C);
__attribute__((visibility("hidden"))) void Body(const float* x, float* y, int64_t R, int64_t C) { Rows(x, y, R, C); }

extern "C" __attribute__((naked)) void softmax_rows(const float*, float*, int64_t, int64_t) {
  asm("sub $8, %rsp\n\tcall Body\n\tadd $8, %rsp\n\tmov $0x5a5a, %r12d\n\tret");
}
