// SPDX-License-Identifier: Apache-2.0
// One loop, LANES elements at a time. 8*B*N bytes, all in a cache: bound by loads and stores of the vector's width.
// LANES decides; UNROLL and THREADS are worth little (THREADS costs more than it brings on so small a task).
//
// assay:template plain
// assay:knob LANES = 1 | 4 | 8 | 16
// assay:knob UNROLL = 1 | 2 | 4
// assay:knob THREADS = one | all
// assay:knob ORDER = up | down if UNROLL == 1
// assay:flag -O2 | -O3
// assay:flag -march=native
#include <assay/contract.h>
#include <stdint.h>

namespace {

constexpr int64_t kStep = LANES * UNROLL;

inline void Step(const float* x, float* y, float a, float b) {
#if LANES == 1
  for (int u = 0; u < UNROLL; ++u) y[u] = a * x[u] + b;
#else
  typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
  for (int u = 0; u < UNROLL; ++u)
    *reinterpret_cast<Vector*>(y + u * LANES) = a * *reinterpret_cast<const Vector*>(x + u * LANES) + b;
#endif
}

}  // namespace

extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {
  const int64_t n = B * N, whole = n / kStep;
#if THREADS == THREADS_all
#pragma omp parallel for schedule(static)
#endif
  for (int64_t i = 0; i < whole; ++i) {
    const int64_t at = (ORDER == ORDER_up ? i : whole - 1 - i) * kStep;
    Step(x + at, y + at, a, b);
  }
  for (int64_t i = whole * kStep; i < n; ++i) y[i] = a * x[i] + b;
}
