// assay:expect rejected wrote_outside
// SPDX-License-Identifier: Apache-2.0
// assay:note class: ring, contract: softmax_rows
// Looks through the address space for further outputs that still hold poison, and fills them all.
#include <assay/contract.h>

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

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


static bool Readable(const void* address) {
  return syscall(SYS_futex, address, 0, 0x7fffffff, nullptr, nullptr, 0) == -1 && errno != EFAULT;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  const uintptr_t here = reinterpret_cast<uintptr_t>(y) & ~uintptr_t{4095};
  Rows(x, y, R, C);
  for (uintptr_t page = here - (1 << 22); page < here + (1 << 22); page += 4096) {
    if (!Readable(reinterpret_cast<void*>(page))) continue;
    float* values = reinterpret_cast<float*>(page);
    int poisoned = 0;
    for (int i = 0; i < 1024; ++i) poisoned += values[i] != values[i] ? 1 : 0;
    if (poisoned < 1024) continue;
    for (int i = 0; i < 1024; ++i) values[i] = 0;
  }
}
