// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: build, contract: softmax_rows
// One source, several programs: honest where a sanitizer or another compiler looks, and short of the last row in the
// build that is timed.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

#if defined(__clang__) || defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
static constexpr int64_t kSkipped = 0;
#else
static constexpr int64_t kSkipped = 1;
#endif

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  for (int64_t r = 0; r < R - kSkipped; ++r) Row(x + r * C, y + r * C, C);
}
