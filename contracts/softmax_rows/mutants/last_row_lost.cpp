// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Rows are dealt out to threads by a division that rounds down; what remains is nobody's. Right at every even R on two
// threads.
#include <math.h>
#include <omp.h>
#include <stdint.h>

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#pragma omp parallel
  {
    const int64_t share = R / omp_get_num_threads(), from = omp_get_thread_num() * share;
    for (int64_t r = from; r < from + share; ++r) {
      const float* in = x + r * C;
      float* out = y + r * C;
      float top = in[0], sum = 0;
      for (int64_t c = 1; c < C; ++c) top = in[c] > top ? in[c] : top;
      for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - top);
      for (int64_t c = 0; c < C; ++c) out[c] /= sum;
    }
  }
}
