// assay:expect rejected crash
// SPDX-License-Identifier: Apache-2.0
// assay:note class: ring, contract: softmax_rows
// Writes a fault of its own choice into the report, one that looks like the harness's doing, and dies.
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

// The pages that the runner shares with its supervisor, found by way of the stack: pointers to the start of a page
// that can be read, and the plan's first word.
static bool Readable(const void* address) {
  return syscall(SYS_futex, address, 0, 0x7fffffff, nullptr, nullptr, 0) == -1 && errno != EFAULT;
}

struct Pages {
  const uint32_t* plan = nullptr;
  uint32_t* report = nullptr;
};

__attribute__((noinline)) static Pages FindPages() {
  Pages found;
  uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  for (uintptr_t at = here; at < here + (1 << 16); at += 8) {
    if (at % 4096 == 0 && !Readable(reinterpret_cast<void*>(at))) break;
    const uintptr_t value = *reinterpret_cast<uintptr_t*>(at);
    if (value == 0 || value % 4096 != 0 || value >> 47 != 0 || !Readable(reinterpret_cast<void*>(value))) continue;
    uint32_t* page = reinterpret_cast<uint32_t*>(value);
    if (page[0] == 0x59415341)
      found.plan = page;
    else if (page[1] == 2)
      found.report = page;  // its second word: ready
  }
  return found;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  const Pages pages = FindPages();
  if (pages.report != nullptr) {
    for (int i = 12; i < 64; ++i) pages.report[i] = 0xffffffff;
  }
  *static_cast<volatile float*>(nullptr) = 1;
  Rows(x, y, R, C);
}
