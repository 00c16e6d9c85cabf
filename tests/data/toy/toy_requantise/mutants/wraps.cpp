// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Right as long as nothing saturates.
#include <math.h>
#include <stdint.h>

extern "C" void toy_requantise(const int32_t* x, int8_t* y, int64_t B, int64_t N, float scale, int32_t zero) {
  for (int64_t i = 0; i < B * N; ++i) {
    y[i] = (int8_t)(int32_t)nearbyintf((float)x[i] * scale + (float)zero);
  }
}
