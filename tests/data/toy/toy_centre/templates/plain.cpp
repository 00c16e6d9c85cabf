// SPDX-License-Identifier: Apache-2.0
// Two passes over each row; LANES partial sums. The row stays in the nearest cache: bound by loads.
//
// assay:template plain
// assay:knob LANES = 1 | 4 | 8
// assay:knob THREADS = one | all
// assay:flag -O2 | -O3
#include <assay/contract.h>
#include <stdint.h>

extern "C" void toy_centre(float* x, const float* shift, int64_t T, int64_t N, int64_t ldx, float scale) {
#if THREADS == THREADS_all
#pragma omp parallel for schedule(static)
#endif
  for (int64_t t = 0; t < T; ++t) {
    float* row = x + t * ldx;
    float sums[LANES] = {};
    int64_t i = 0;
    for (; i + LANES <= N; i += LANES)
      for (int lane = 0; lane < LANES; ++lane) sums[lane] += row[i + lane];
    for (; i < N; ++i) sums[0] += row[i];
    float sum = 0;
    for (int lane = 0; lane < LANES; ++lane) sum += sums[lane];
    const float mean = sum / (float)N;
    for (i = 0; i < N; ++i) row[i] = (row[i] - mean) * scale + (shift != nullptr ? shift[i] : 0.0f);
  }
}
