// assay:expect rejected depends_on_history
// SPDX-License-Identifier: Apache-2.0
// assay:note class: state, contract: softmax_rows
// Makes a plan for the first call and keeps it as long as it is large enough: the next problem of another width is read
// with the old one's row length. Right in every process that sees one shape only.
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

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static int64_t planned_elements = 0, planned_width = 0;
  if (R * C > planned_elements) {
    planned_elements = R * C;
    planned_width = C;
  }
  for (int64_t r = 0; r < R; ++r) {
    const int64_t from = r * planned_width + C <= planned_elements ? r * planned_width : r * C;
    Row(x + from, y + r * C, C);
  }
}
