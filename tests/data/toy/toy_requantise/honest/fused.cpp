// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Product and sum in one rounding, from the last element to the first.
#include <math.h>
#include <stdint.h>

extern "C" void toy_requantise(const int32_t* x, int8_t* y, int64_t B, int64_t N, float scale, int32_t zero) {
  for (int64_t i = 0; i < B * N; ++i) {
    const int64_t at = B * N - 1 - i;
    const float code = rintf(fmaf((float)x[at], scale, (float)zero));
    y[at] = (int8_t)fminf(fmaxf(code, -127.0f), 127.0f);
  }
}
