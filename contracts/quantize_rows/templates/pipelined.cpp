// SPDX-License-Identifier: Apache-2.0
// While the codes of one row are made, the largest magnitude of the next is taken in the same loop.
//
// What it does.  A maximum alone waits for memory and codes alone keep the arithmetic busy; together neither stops for the
// other, and every row is read from memory in the shadow of the one before it. UNROLL vectors of each go hand in hand.
//
// Floor.  5*R*C bytes over the streaming bandwidth: four in, one out.
//
// What decides.  UNROLL, PREFETCH, CHUNK (each chunk begins with a maximum that has no codes beside it).
//
// assay:template pipelined
// assay:knob VEC = 32 | 64 default 64
// assay:knob UNROLL = 1 | 2 | 4 default 2
// assay:knob KEEP = again | copy
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

constexpr int64_t kMostColumns = 16384;  // the contract's limit of C

// `out` gets the codes of `row` (may be null); the largest magnitude of `next` (may be null) is returned. With KEEP = copy
// rows wait in buffers of their own, away from what their neighbours map to.
template <class Encode>
INLINE float Together(const float* row, float inverse, int8_t* out, const float* next, float* copy, int64_t C,
                      Encode encode) {
  const int64_t whole = C / kLanes, tail = C - whole * kLanes;
  Floats max[UNROLL];
  for (int u = 0; u < UNROLL; ++u) max[u] = Set(kLeast);
  const auto one = [&](int64_t at, int u) __attribute__((always_inline)) {
    if (next != nullptr) {
      if (PREFETCH > 0) __builtin_prefetch(next + at + PREFETCH * 16, 0, HINT);
      const Floats v = Load(next + at);
      if (KEEP == KEEP_copy) *reinterpret_cast<Loose*>(copy + at) = v;
      max[u] = Greater(max[u], Magnitude(v));
    }
    if (out != nullptr) Store(out + at, encode(Load(row + at) * inverse));
  };
  int64_t k = 0;
  for (; k + UNROLL <= whole; k += UNROLL)
    for (int u = 0; u < UNROLL; ++u) one((k + u) * kLanes, u);
  for (; k < whole; ++k) one(k * kLanes, 0);
  if (tail > 0) {
    if (next != nullptr) {
      const Floats v = LoadPart(next + C - tail, tail);
      if (KEEP == KEEP_copy) memcpy(copy + C - tail, &v, (size_t)tail * 4);
      max[0] = Greater(max[0], Magnitude(v));
    }
    if (out != nullptr) StorePart(out + C - tail, tail, encode(LoadPart(row + C - tail, tail) * inverse));
  }
  for (int u = 1; u < UNROLL; ++u) max[0] = Greater(max[0], max[u]);
  return Greatest(max[0]);
}

static void Rows(const float* x, int8_t* codes_i8, float* scale_i8, int8_t* codes_e4m3, float* scale_e4m3, int64_t from,
                 int64_t to, int64_t C) {
  alignas(64) float kept[2][KEEP == KEEP_copy ? kMostColumns : kLanes];
  const auto int8 = [](Floats v) __attribute__((always_inline)) { return Int8(v); };
  const auto e4m3 = [](Floats v) __attribute__((always_inline)) { return E4m3(v); };
  float range = Together(x, 0.0f, nullptr, x + from * C, kept[from % 2], C, int8);
  for (int64_t r = from; r < to; ++r) {
    const float* row = KEEP == KEEP_copy ? kept[r % 2] : x + r * C;
    const float* next = r + 1 < to ? x + (r + 1) * C : nullptr;
    float* copy = kept[(r + 1) % 2];
    const float s8 = range / 127.0f, s4 = range / 448.0f;
    scale_i8[r] = s8;
    scale_e4m3[r] = s4;
    if (codes_i8 != nullptr) {
      range = Together(row, 1.0f / s8, codes_i8 + r * C, next, copy, C, int8);
      if (codes_e4m3 != nullptr) Together(row, 1.0f / s4, codes_e4m3 + r * C, nullptr, nullptr, C, e4m3);
    } else if (codes_e4m3 != nullptr) {
      range = Together(row, 1.0f / s4, codes_e4m3 + r * C, next, copy, C, e4m3);
    } else {
      range = Together(row, 1.0f, nullptr, next, copy, C, int8);
    }
  }
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
    Rows(x, codes_i8, scale_i8, reinterpret_cast<int8_t*>(codes_e4m3), scale_e4m3, from, to, C);
  }
}
