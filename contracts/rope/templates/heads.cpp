// SPDX-License-Identifier: Apache-2.0
// Rotary embedding token by token, a strip of each head's two halves at a time.
//
// The floor is 8*T*(H+KV)*D bytes, q and k read and written in place, over the bandwidth of whatever level they lie in;
// three operations for each element hide under it. ORDER says what stays in registers. `strips`: STRIP vectors of the
// cosines and sines turn all heads before the next ones are loaded, which jumps from head to head. `heads`: each head is
// finished in one sweep, which reads the tables again from the first-level cache.
// Deciding: PREFETCH on large shapes; ORDER, STRIP and FORK on small ones.
//
// assay:template heads
// assay:knob ORDER = heads | strips
// assay:knob STRIP = 1 | 2 | 4 default 2
// assay:knob TWO_HEADS = 0 | 1
// assay:knob VEC = 16 | 32 | 64 default 64
// assay:when VEC * STRIP <= 128
// assay:knob PREFETCH = 0 | 256 | 512 | 1024 | 2048 default 512
// assay:knob HINT = 0 | 2 | 3 default 3 if PREFETCH > 0
// assay:knob NEXT_TABLE = 0 | 1
// assay:knob SCHEDULE = block | cyclic | dynamic
// assay:knob TOKENS = 1..64 pow2 default 16 if SCHEDULE != 'block'
// assay:knob FORK = 0 | 4096 | 16384 | 65536 default 16384
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -funroll-loops
#include <assay/contract.h>
#include <omp.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

#define INLINE static inline __attribute__((always_inline))

namespace {

// A vector wider than the machine's would be split by the compiler.
#if VEC >= 64 && defined(__AVX512F__)
constexpr int kBytes = 64;
#elif VEC >= 32 && defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int kLanes = kBytes / 4;
constexpr int kStrip = STRIP * kLanes;  // divides 32, half of the smaller D

typedef float Vector __attribute__((vector_size(kBytes), may_alias));
typedef float Unaligned __attribute__((vector_size(kBytes), aligned(4), may_alias));

INLINE Vector Load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
INLINE void Store(float* p, Vector v) { *reinterpret_cast<Unaligned*>(p) = v; }

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

struct Angles {
  Vector cosine[STRIP], sine[STRIP];
};

INLINE Angles LoadAngles(const float* cosines, const float* sines) {
  Angles angles;
  For<STRIP>([&](auto v) __attribute__((always_inline)) {
    angles.cosine[v] = Load(cosines + v * kLanes);
    angles.sine[v] = Load(sines + v * kLanes);
  });
  return angles;
}

// Both loads come before both stores: the compiler need not know that the halves are apart.
template <bool kLarge>
INLINE void TurnStrip(float* x, int64_t half, const Angles& angles) {
  Vector low[STRIP], high[STRIP];
  For<STRIP>([&](auto v) __attribute__((always_inline)) {
    low[v] = Load(x + v * kLanes);
    high[v] = Load(x + half + v * kLanes);
  });
  if constexpr (kLarge && PREFETCH > 0) {
    For<(STRIP * kBytes + 63) / 64>([&](auto line) __attribute__((always_inline)) {
      __builtin_prefetch(x + PREFETCH + line * 16, 1, HINT);
      __builtin_prefetch(x + half + PREFETCH + line * 16, 1, HINT);
    });
  }
  For<STRIP>([&](auto v) __attribute__((always_inline)) {
    Store(x + v * kLanes, low[v] * angles.cosine[v] - high[v] * angles.sine[v]);
    Store(x + half + v * kLanes, high[v] * angles.cosine[v] + low[v] * angles.sine[v]);
  });
}

template <bool kLarge>
INLINE void TurnHeads(float* x, int64_t heads, int64_t half, const float* cosines, const float* sines) {
  const int64_t D = 2 * half;
  if (ORDER == ORDER_strips) {
    for (int64_t i = 0; i < half; i += kStrip) {
      const Angles angles = LoadAngles(cosines + i, sines + i);
      for (int64_t h = 0; h < heads; ++h) TurnStrip<kLarge>(x + h * D + i, half, angles);
    }
    return;
  }
  int64_t h = 0;
  if (TWO_HEADS) {
    for (; h + 2 <= heads; h += 2) {
      for (int64_t i = 0; i < half; i += kStrip) {
        const Angles angles = LoadAngles(cosines + i, sines + i);
        TurnStrip<kLarge>(x + h * D + i, half, angles);
        TurnStrip<kLarge>(x + (h + 1) * D + i, half, angles);
      }
    }
  }
  for (; h < heads; ++h)
    for (int64_t i = 0; i < half; i += kStrip)
      TurnStrip<kLarge>(x + h * D + i, half, LoadAngles(cosines + i, sines + i));
}

struct Call {
  float *q, *k;
  const int32_t* positions;
  const float *cosines, *sines;
  int64_t heads, key_heads, half;
};

template <bool kLarge>
static void Tokens(const Call& call, int64_t from, int64_t to) {
  const int64_t half = call.half;
  for (int64_t t = from; t < to; ++t) {
    const int64_t at = call.positions[t] * half;
    if (NEXT_TABLE && t + 1 < to) {
      const int64_t next = call.positions[t + 1] * half;
      for (int64_t i = 0; i < half; i += 16) {
        __builtin_prefetch(call.cosines + next + i, 0, 3);
        __builtin_prefetch(call.sines + next + i, 0, 3);
      }
    }
    TurnHeads<kLarge>(call.q + t * call.heads * 2 * half, call.heads, half, call.cosines + at, call.sines + at);
    TurnHeads<kLarge>(call.k + t * call.key_heads * 2 * half, call.key_heads, half, call.cosines + at, call.sines + at);
  }
}

// On what stays in the caches, announcing reads only costs.
constexpr int64_t kLargeShape = 1 << 18;  // elements

}  // namespace

extern "C" void rope(float* q, float* k, const int32_t* positions, const float* cosines, const float* sines, int64_t T,
                     int64_t H, int64_t KV, int64_t D, int64_t) {
#if SCHEDULE == SCHEDULE_block
  const int64_t threads = omp_get_max_threads(), chunk = (T + threads - 1) / threads;
#else
  const int64_t chunk = TOKENS;
#endif
  const int64_t chunks = T > 0 ? (T + chunk - 1) / chunk : 0, elements = T * (H + KV) * D;
  const Call call = {q, k, positions, cosines, sines, H, KV, D / 2};
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp parallel for schedule(dynamic, 1) if (elements >= FORK)
#else
#pragma omp parallel for schedule(static, 1) if (elements >= FORK)
#endif
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t from = c * chunk, to = from + chunk < T ? from + chunk : T;
    if (elements >= kLargeShape) {
      Tokens<true>(call, from, to);
    } else {
      Tokens<false>(call, from, to);
    }
  }
}
