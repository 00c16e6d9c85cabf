// SPDX-License-Identifier: Apache-2.0
// A row is read for its largest magnitude and read again, from the first caches, for its codes.
//
// What it does.  The maximum runs on UNROLL accumulators; codes are products with 1/scale (or quotients: DIVIDE), rounded
// by adding 1.5 * 2^23, and stored sixteen at once. The next row is announced while codes are made.
//
// Floor.  5*R*C bytes over the streaming bandwidth: four in, one out.
//
// What decides.  VEC, UNROLL, PREFETCH.
//
// assay:template two_loops
// assay:knob VEC = 32 | 64 default 64
// assay:knob UNROLL = 1 | 2 | 4 | 8 default 4
// assay:knob DIVIDE = inverse | each
// assay:knob PREFETCH = 0 | 8 | 16 | 32 | 64 default 16
// assay:knob HINT = 0 | 2 | 3 default 3 if PREFETCH > 0
// assay:knob SCHEDULE = block | cyclic | dynamic
// assay:knob CHUNK = 4..128 pow2 default 16 if SCHEDULE != 'block'
// assay:knob FORK = 0 | 4096 | 16384 | 65536 default 16384
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -fno-trapping-math
#include <assay/contract.h>

#include <omp.h>
#include <stdint.h>
#include <string.h>

namespace {

#if VEC >= 64 && defined(__AVX512F__)
constexpr int kBytes = 64;
#else
constexpr int kBytes = 32;
#endif
constexpr int kLanes = kBytes / 4;

typedef float Floats __attribute__((vector_size(kBytes)));
typedef float Loose __attribute__((vector_size(kBytes), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(kBytes)));
typedef int8_t Codes __attribute__((vector_size(kLanes)));
typedef int8_t LooseCodes __attribute__((vector_size(kLanes), aligned(1), may_alias));

#define INLINE static inline __attribute__((always_inline))

constexpr float kLeast = 0x1p-100f;  // range that a scale is made for

INLINE Floats Set(float v) { return Floats{} + v; }
INLINE Floats Load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
INLINE Floats Magnitude(Floats v) { return (Floats)((Ints)v & INT32_MAX); }
INLINE Floats Greater(Floats a, Floats b) { return a > b ? a : b; }
INLINE Floats Smaller(Floats a, Floats b) { return a < b ? a : b; }

INLINE Floats LoadPart(const float* p, int64_t n) {
  Floats v = {};
  for (int64_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

INLINE float Greatest(Floats v) {
  float lane[kLanes];
  memcpy(lane, &v, sizeof lane);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = lane[i] > lane[i + half] ? lane[i] : lane[i + half];
  return lane[0];
}

// Adding 1.5 * 2^23 leaves the nearest integer, ties to even, in the low bits.
INLINE Ints Nearest(Floats v) { return (Ints)(v + 12582912.0f) - 0x4B400000; }

INLINE Codes Int8(Floats v) { return __builtin_convertvector(Nearest(v), Codes); }

// A mantissa of three bits: rounded in the bits of the float, ties to even, a carry moving on into the exponent by itself.
// Below 2^-6 codes count multiples of 2^-9.
INLINE Codes E4m3(Floats v) {
  const Ints bits = (Ints)v, sign = (bits >> 24) & 128;
  const Ints magnitude = (Ints)Smaller(Magnitude(v), Set(448.0f));
  const Ints normal = ((magnitude + 0x7FFFF + ((magnitude >> 20) & 1)) >> 20) - (120 << 3);
  const Ints small = Nearest((Floats)magnitude * 512.0f);
  const Ints code = ((Floats)magnitude < Set(0x1p-6f) ? small : normal) | sign;
  return __builtin_convertvector(code, Codes);
}

INLINE void Store(int8_t* p, Codes v) { *reinterpret_cast<LooseCodes*>(p) = v; }
INLINE void StorePart(int8_t* p, int64_t n, Codes v) { memcpy(p, &v, (size_t)n); }

template <class One>
INLINE void Each(int64_t vectors, One one) {
  int64_t k = 0;
  for (; k + UNROLL <= vectors; k += UNROLL)
    for (int u = 0; u < UNROLL; ++u) one((k + u) * kLanes, u);
  for (; k < vectors; ++k) one(k * kLanes, 0);
}

INLINE Floats Scaled(Floats v, float scale, float inverse) {
  return DIVIDE == DIVIDE_each ? v / scale : v * inverse;
}

template <class Encode>
INLINE void Encoded(const float* row, int64_t C, float scale, int8_t* codes, Encode encode) {
  const float inverse = 1.0f / scale;
  const int64_t whole = C / kLanes, tail = C - whole * kLanes;
  Each(
      whole, [&](int64_t at, int) __attribute__((always_inline)) {
        if (PREFETCH > 0) __builtin_prefetch(row + C + at + PREFETCH * 16, 0, HINT);
        Store(codes + at, encode(Scaled(Load(row + at), scale, inverse)));
      });
  if (tail > 0) {
    StorePart(codes + C - tail, tail, encode(Scaled(LoadPart(row + C - tail, tail), scale, inverse)));
  }
}

INLINE float Range(const float* row, int64_t C) {
  const int64_t whole = C / kLanes, tail = C - whole * kLanes;
  Floats max[UNROLL];
  for (int u = 0; u < UNROLL; ++u) max[u] = Set(kLeast);
  Each(
      whole, [&](int64_t at, int u) __attribute__((always_inline)) {
        max[u] = Greater(max[u], Magnitude(Load(row + at)));
      });
  if (tail > 0) max[0] = Greater(max[0], Magnitude(LoadPart(row + C - tail, tail)));
  for (int u = 1; u < UNROLL; ++u) max[0] = Greater(max[0], max[u]);
  return Greatest(max[0]);
}

}  // namespace

extern "C" void quantize_rows(const float* x, int8_t* codes_i8, float* scale_i8, uint8_t* codes_e4m3, float* scale_e4m3,
                              int64_t R, int64_t C) {
#if SCHEDULE == SCHEDULE_block
  const int64_t threads = omp_get_max_threads(), chunk = (R + threads - 1) / threads;
#else
  const int64_t chunk = CHUNK;
#endif
  const int64_t chunks = R > 0 ? (R + chunk - 1) / chunk : 0;
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp parallel for schedule(dynamic, 1) if (R * C >= FORK)
#else
#pragma omp parallel for schedule(static, 1) if (R * C >= FORK)
#endif
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t from = c * chunk, to = from + chunk < R ? from + chunk : R;
    for (int64_t r = from; r < to; ++r) {
      const float* row = x + r * C;
      const float range = Range(row, C);
      scale_i8[r] = range / 127.0f;
      scale_e4m3[r] = range / 448.0f;
      if (codes_i8) {
        Encoded(
            row, C, scale_i8[r], codes_i8 + r * C, [](Floats v) __attribute__((always_inline)) { return Int8(v); });
      }
      if (codes_e4m3) {
        Encoded(
            row, C, scale_e4m3[r], reinterpret_cast<int8_t*>(codes_e4m3) + r * C,
            [](Floats v) __attribute__((always_inline)) { return E4m3(v); });
      }
    }
  }
}
