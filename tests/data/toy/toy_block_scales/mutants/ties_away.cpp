// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Ties away from zero.
// e2m1 (OCP: bias 1, neither NaN nor infinity), two codes to a byte, low nibble first; e8m0 is the exponent of a power of
// two with bias 127.
#include <math.h>
#include <stdint.h>

static inline float FromE2m1(const uint8_t* packed, int64_t i) {
  static const float kMagnitudes[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const int nibble = (packed[i / 2] >> (4 * (i % 2))) & 15;
  return (nibble & 8) != 0 ? -kMagnitudes[nibble & 7] : kMagnitudes[nibble & 7];
}

// To the nearest, ties away from zero, what is larger than six becomes six.
static inline int ToE2m1(float value) {
  const float m = fabsf(value);
  const int code = m < 0.25f ? 0 : m < 0.75f ? 1 : m < 1.25f ? 2 : m < 1.75f ? 3 : m < 2.5f ? 4 : m < 3.5f ? 5 : m < 5 ? 6 : 7;
  return signbit(value) ? code | 8 : code;
}

static inline void Store(uint8_t* packed, int64_t i, int code) {
  const int shift = 4 * (int)(i % 2);
  packed[i / 2] = (uint8_t)((packed[i / 2] & ~(15 << shift)) | (code << shift));
}

extern "C" void toy_block_scales(const float* x, const uint8_t* w, const uint8_t* s, float* y, uint8_t* q, int64_t R,
                                 int64_t G) {
  for (int64_t r = 0; r < R; ++r) {
    float sum = 0;
    for (int64_t i = 32 * G * r; i < 32 * G * (r + 1); ++i) {
      const float scale = ldexpf(1, s[i / 32] - 127);
      sum += x[i] * (FromE2m1(w, i) * scale);
      Store(q, i, ToE2m1(x[i] / scale));
    }
    y[r] = sum;
  }
}
