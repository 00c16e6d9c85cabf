// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// One rounding instead of three; saturates before it rounds.
#include <math.h>
#include <stdint.h>

extern "C" void toy_requantise(const int32_t* x, int8_t* y, int64_t B, int64_t N, float scale, int32_t zero) {
  for (int64_t i = 0; i < B * N; ++i) {
    const double value = (double)x[i] * (double)scale + (double)zero;
    y[i] = (int8_t)lrint(fmin(fmax(value, -127.0), 127.0));
  }
}
