// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// The scale loses sixteen bits: most codes are right all the same.
#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" void toy_requantise(const int32_t* x, int8_t* y, int64_t B, int64_t N, float scale, int32_t zero) {
  for (int64_t i = 0; i < B * N; ++i) {
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    bits &= 0xFFFF0000U;
    float narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    const float code = nearbyintf((float)x[i] * narrow + (float)zero);
    y[i] = (int8_t)fminf(fmaxf(code, -127.0f), 127.0f);
  }
}
