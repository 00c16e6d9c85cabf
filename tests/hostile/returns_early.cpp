// assay:expect rejected late_work
// SPDX-License-Identifier: Apache-2.0
// assay:note class: late-work, contract: softmax_rows
// assay:knob WHERE = 0 | 1
// 0: at every shape; 1: only at the shapes that are timed, honest elsewhere.
// Returns while another thread still works. No new thread is needed: one of the OpenMP team is sent into a region that it
// never leaves, while the main thread jumps out of the region past the barrier at its end.
#include <assay/contract.h>

#include <atomic>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>

#include <omp.h>

static bool Cheats(int64_t R, int64_t C) { return WHERE == 0 || (C == 1024 && (R == 128 || R == 4096)); }

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

static std::atomic<int64_t> posted{0};
static const float* posted_x;
static float* posted_y;
static int64_t posted_first, posted_last, posted_columns;

static void Serve() {
  for (int64_t served = 0;;) {
    while (posted.load(std::memory_order_acquire) == served) {
    }
    ++served;
    for (int64_t wait = 0; wait < 400000; ++wait) asm volatile("");
    for (int64_t r = posted_first; r < posted_last; ++r) Row(posted_x + r * posted_columns, posted_y + r * posted_columns, posted_columns);
  }
}

static jmp_buf outside;
static bool serving = false;

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  if (!Cheats(R, C) || R < 2 || omp_get_max_threads() < 2) {
    for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
    return;
  }
  if (!serving && setjmp(outside) == 0) {
    serving = true;
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 1) Serve();
      longjmp(outside, 1);
    }
  }
  for (int64_t r = 0; r < R - 1; ++r) Row(x + r * C, y + r * C, C);
  posted_x = x;
  posted_y = y;
  posted_first = R - 1;
  posted_last = R;
  posted_columns = C;
  posted.fetch_add(1, std::memory_order_release);
}
