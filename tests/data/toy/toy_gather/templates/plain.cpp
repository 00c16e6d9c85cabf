// SPDX-License-Identifier: Apache-2.0
// Row after row into the sums of a segment: unit stride, bound by loads.
//
// assay:template plain
// assay:knob THREADS = one | all
// assay:flag -O2 | -O3
#include <assay/contract.h>
#include <stdint.h>

extern "C" void toy_gather(const float* x, const int32_t* row, const int64_t* begin, float* y, int64_t, int64_t N,
                           int64_t, int64_t S, float gain) {
#if THREADS == THREADS_all
#pragma omp parallel for schedule(dynamic)
#endif
  for (int64_t s = 0; s < S; ++s) {
    float* sums = y + s * N;
    for (int64_t n = 0; n < N; ++n) sums[n] = 0;
    for (int64_t i = begin[s]; i < begin[s + 1]; ++i)
      for (int64_t n = 0; n < N; ++n) sums[n] += x[row[i] * N + n];
    for (int64_t n = 0; n < N; ++n) sums[n] *= gain;
  }
}
