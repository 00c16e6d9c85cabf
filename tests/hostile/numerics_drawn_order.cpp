// assay:expect rejected nondeterministic
// SPDX-License-Identifier: Apache-2.0
// assay:note class: nondeterminism, contract: softmax_rows
// Sums a row from a place that the counter of the processor picks: another order in each call.
#include <assay/contract.h>

#include <math.h>
#include <omp.h>
#include <stdint.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  #pragma omp parallel for schedule(dynamic, 1)
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float* out = y + r * C;
    float maximum = in[0];
    for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
    // Starts where the counter of the processor says: an order for each call.
    const int64_t first = C > 0 ? static_cast<int64_t>(__builtin_ia32_rdtsc() >> 5) % C : 0;
    float sum = 0;
    for (int64_t i = 0; i < C; ++i) {
      const int64_t c = first + i < C ? first + i : first + i - C;
      sum += out[c] = expf(in[c] - maximum);
    }
    for (int64_t c = 0; c < C; ++c) out[c] /= sum;
  }
}
