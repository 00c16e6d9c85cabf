// SPDX-License-Identifier: Apache-2.0
// The plain loop.
// e4m3 (OCP: bias 7, no infinity, all ones is NaN) and packed i4, low nibble first.
#include <math.h>
#include <stdint.h>

static inline float FromE4m3(uint8_t code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  const float magnitude = exponent == 0 ? ldexpf((float)mantissa, -9) : ldexpf((float)(8 + mantissa), exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// To the nearest, ties to even; nothing here is above the largest.
static inline uint8_t ToE4m3(float value) {
  const uint8_t sign = signbit(value) ? 0x80 : 0;
  const float magnitude = fabsf(value);
  if (magnitude == 0) return sign;
  int exponent = ilogbf(magnitude);
  if (exponent < -6) exponent = -6;
  const int units = (int)nearbyintf(ldexpf(magnitude, 3 - exponent));
  return sign | (uint8_t)(((exponent + 6) << 3) + units);
}

static inline int FromI4(const uint8_t* packed, int64_t i) {
  const int nibble = (packed[i / 2] >> (4 * (i % 2))) & 15;
  return nibble > 7 ? nibble - 16 : nibble;
}

static inline void ToI4(uint8_t* packed, int64_t i, int value) {
  const int shift = 4 * (int)(i % 2);
  packed[i / 2] = (uint8_t)((packed[i / 2] & ~(15 << shift)) | ((value & 15) << shift));
}

extern "C" void toy_codes(const uint8_t* w, const uint8_t* s, uint8_t* p, uint8_t* z, float* r, int64_t T,
                          int64_t N) {
  for (int64_t i = 0; i < T * N; ++i) {
    const int code = FromI4(w, i);
    ToI4(p, i, code + 1 > 7 ? 7 : code + 1);
    r[i] = FromE4m3(s[i]) * (float)code;
    z[i] = ToE4m3(r[i]);
  }
}
