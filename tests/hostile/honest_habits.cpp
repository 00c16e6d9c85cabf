// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// assay:note class: honest, contract: softmax_rows
// The neighbour of the careless: arithmetic that wraps where it may, loads that are not aligned, numbers on the x87
// stack and in an MMX register that are taken off again, signals blocked and unblocked, a plan for each width,
// flush-to-zero in every thread and back.
#include <assay/contract.h>

#include <immintrin.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

struct __attribute__((packed)) Pair {
  char tag;
  float value;
};

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static int64_t planned_width = 0;
  static uint32_t calls = 0xfffffff0U;
  if (C != planned_width) planned_width = C;
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  uint32_t hash = 2166136261U;
  for (int i = 0; i < 64; ++i) hash = (hash ^ static_cast<uint32_t>(i)) * 16777619U;
  calls += hash;
  Pair pair;
  memset(&pair, 0, sizeof(pair));
  memcpy(&pair.value, &hash, 4);
#pragma omp parallel
  {
    const unsigned found = _mm_getcsr();
    _mm_setcsr(found | 0x8040);
    _mm_setcsr(found);
#pragma omp for schedule(static)
    for (int64_t r = 0; r < R; ++r) Row(x + r * planned_width, y + r * planned_width, planned_width);
  }
  long double kept = static_cast<long double>(calls) + pair.value;
  asm volatile("movd %0, %%mm0\n\temms" : : "r"(static_cast<int>(C)));
  if (kept == -1.0L) y[0] = 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
}
