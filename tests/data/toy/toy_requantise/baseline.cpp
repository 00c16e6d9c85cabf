// SPDX-License-Identifier: Apache-2.0
// The plain loop.
#include <math.h>
#include <stdint.h>

extern "C" void toy_requantise(const int32_t* x, int8_t* y, int64_t B, int64_t N, float scale, int32_t zero) {
  for (int64_t i = 0; i < B * N; ++i) {
    const float code = nearbyintf((float)x[i] * scale + (float)zero);
    y[i] = (int8_t)fminf(fmaxf(code, -127.0f), 127.0f);
  }
}
