// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: ring, contract: softmax_rows
// Puts memory of its own at the input's address, so that later inputs never arrive there and its stored answer stays
// right.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <sys/mman.h>

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


extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(x) & ~uintptr_t{4095};
  const uintptr_t last = reinterpret_cast<uintptr_t>(x + R * C) & ~uintptr_t{4095};
  Rows(x, y, R, C);
  mmap(reinterpret_cast<void*>(first), last - first + 4096, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
