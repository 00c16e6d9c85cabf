// SPDX-License-Identifier: Apache-2.0
// A generator with state in every lane: xoshiro128 (Blackman and Vigna 2021), seeded for each row and lane.
//
// What it does.  A number costs an addition, two shifts, a rotation and five exclusive ors, without any multiplication;
// seeding costs a row some sixty operations. STREAMS independent generators hide their latency.
//
// Floor.  8*R*C bytes over the streaming bandwidth; ten integer operations for sixteen elements.
//
// What decides.  STREAMS while data stay in the caches; NT and PREFETCH when they do not.
//
// assay:template streams
// assay:knob VEC = 32 | 64 default 64
// assay:knob STREAMS = 1 | 2 | 3 | 4 default 2
// assay:knob SCRAMBLE = plus | plusplus
// assay:knob PREFETCH = 0 | 8 | 16 | 32 | 64 default 16
// assay:knob NT = 0 | 1
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
typedef uint32_t Bits __attribute__((vector_size(kBytes)));
typedef int32_t Ints __attribute__((vector_size(kBytes)));

#define INLINE static inline __attribute__((always_inline))

// Spreads a seed over 64 bits.
INLINE uint64_t Mix(uint64_t z) {
  z = (z + 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

INLINE Bits Lanes() {
  Bits lanes = {};
  for (int i = 0; i < kLanes; ++i) lanes[i] = (uint32_t)i;
  return lanes;
}

// The number of 31 bits below which an element falls out. Compared as signed: that is one instruction everywhere.
INLINE int32_t Threshold(float p) { return (int32_t)((double)p * 0x1p31); }

INLINE Floats Dropped(Floats x, Bits number, int32_t threshold, float scale) {
  return (Ints)(number >> 1) < threshold ? Floats{} : x * scale;
}

// Past the caches where the address allows it (NT).
INLINE void Store(float* p, Floats v, bool aligned) {
#if defined(__clang__)
  if (NT && aligned) return __builtin_nontemporal_store(v, reinterpret_cast<Floats*>(p));
#elif defined(__AVX512F__) && VEC >= 64
  if (NT && aligned) return __builtin_ia32_movntps512(p, v);
#elif defined(__AVX__)
  if (NT && aligned) return __builtin_ia32_movntps256(p, v);
#endif
  *reinterpret_cast<Loose*>(p) = v;
}

// Stores past the caches are not ordered with the release that ends the parallel region.
INLINE void Fence() {
#if defined(__SSE__)
  if (NT) __builtin_ia32_sfence();
#endif
}

struct Generator {
  Bits s[4];
};

INLINE Bits Turned(Bits v, int by) { return (v << by) | (v >> (32 - by)); }

INLINE Bits Next(Generator& g) {
  Bits (&s)[4] = g.s;
  const Bits number = SCRAMBLE == SCRAMBLE_plus ? s[0] + s[3] : Turned(s[0] + s[3], 7) + s[0];
  const Bits shifted = s[1] << 9;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = Turned(s[3], 11);
  return number;
}

// Of murmur's finaliser: lanes and streams differ by the counter, rows and seeds by the key.
INLINE Bits Spread(Bits v) {
  v = (v ^ (v >> 16)) * 0x85EBCA6BU;
  v = (v ^ (v >> 13)) * 0xC2B2AE35U;
  return v ^ (v >> 16);
}

INLINE Generator Seeded(uint64_t own, int stream) {
  const uint32_t k0 = (uint32_t)own, k1 = (uint32_t)(own >> 32);
  const Bits counter = (Lanes() + (uint32_t)(stream * kLanes)) * 0x9E3779B9U;
  Generator g;
  g.s[0] = Spread(counter + k0) ^ k1;
  g.s[1] = Spread(counter + k1) + k0;
  g.s[2] = Spread(counter ^ (k0 + 0x7F4A7C15U)) + k1;
  g.s[3] = Spread(counter ^ (k1 + 0x1CE4E5B9U)) | 1U;  // never all zero
  Next(g);
  Next(g);
  return g;
}

static void Row(const float* in, float* out, int64_t C, int64_t r, uint64_t key, int32_t threshold, float scale) {
  const uint64_t own = Mix(key ^ (0xD1B54A32D192ED03U * (uint64_t)(r + 1)));
  Generator generators[STREAMS];
  for (int s = 0; s < STREAMS; ++s) generators[s] = Seeded(own, s);
  const int64_t whole = C / kLanes, tail = C - whole * kLanes;
  const bool aligned = reinterpret_cast<uintptr_t>(out) % kBytes == 0;
  const auto one = [&](int64_t v, int s) __attribute__((always_inline)) {
    const int64_t at = v * kLanes;
    if (PREFETCH > 0) __builtin_prefetch(in + at + PREFETCH * 16, 0, 3);
    Store(out + at, Dropped(*reinterpret_cast<const Loose*>(in + at), Next(generators[s]), threshold, scale), aligned);
  };
  int64_t v = 0;
  for (; v + STREAMS <= whole; v += STREAMS)
    for (int s = 0; s < STREAMS; ++s) one(v + s, s);
  for (int s = 0; v < whole; ++v, ++s) one(v, s);
  if (tail > 0) {
    Floats part = {};
    memcpy(&part, in + C - tail, (size_t)tail * 4);
    part = Dropped(part, Next(generators[0]), threshold, scale);
    memcpy(out + C - tail, &part, (size_t)tail * 4);
  }
  Fence();
}

}  // namespace

extern "C" void dropout(const float* x, float* y, int64_t R, int64_t C, float p, int64_t seed) {
  const int32_t threshold = Threshold(p);
  const float scale = 1.0f / (1.0f - p);
  const uint64_t key = Mix((uint64_t)seed);
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp parallel for schedule(dynamic, CHUNK) if (R * C >= FORK)
#elif SCHEDULE == SCHEDULE_cyclic
#pragma omp parallel for schedule(static, CHUNK) if (R * C >= FORK)
#else
#pragma omp parallel for schedule(static) if (R * C >= FORK)
#endif
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C, r, key, threshold, scale);
}
