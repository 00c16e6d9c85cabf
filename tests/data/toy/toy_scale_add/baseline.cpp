// SPDX-License-Identifier: Apache-2.0
// The plain loop; -O1 keeps the strict arm scalar, so that a campaign has something to find.
#include <stdint.h>

extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {
  for (int64_t i = 0; i < B * N; ++i) y[i] = a * x[i] + b;
}
