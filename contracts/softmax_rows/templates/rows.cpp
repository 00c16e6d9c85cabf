// SPDX-License-Identifier: Apache-2.0
// Softmax over rows, three loops for each row: maximum, exponentials and their sum, scaling.
//
// The floor is 8*R*C bytes over the streaming bandwidth, approached only as far as the processor overlaps the end of a
// row with the start of the next one by itself; PREFETCH (64-byte lines, during the exponentials) helps it. While data
// stay in the caches it is as good as any. KEEP says where the exponentials wait for their sum: in a `local` buffer, in
// the `output` itself (which then has to be written through the caches), or nowhere: `recompute` does them twice and
// pays in arithmetic what it saves in stores.
// Deciding: KEEP, NT, VEC, PREFETCH.
//
// assay:template rows
// assay:knob KEEP = local | output | recompute
// assay:knob NT = 0 | 1 default 1 if KEEP != 'output'
// assay:knob VEC = 32 | 64 default 64
// assay:knob UNROLL = 1 | 2 | 4 default 4
// assay:knob DEGREE = 5 | 6 default 6
// assay:knob PREFETCH = 0 | 16 | 32 | 64 | 128 | 256 default 128
// assay:knob HINT = 0 | 2 | 3 default 3 if PREFETCH > 0
// assay:knob SCHEDULE = block | cyclic | dynamic
// assay:knob CHUNK = 8..256 pow2 default 64 if SCHEDULE != 'block'
// assay:knob FORK = 0 | 4096 | 16384 | 65536 default 16384
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -fno-trapping-math
// assay:flag none | -fno-signed-zeros
#include <assay/contract.h>
#include <omp.h>
#include <stdint.h>

namespace {

// A vector wider than the machine's would be split by the compiler, conversions even into scalars. GCC has no portable
// non-temporal store, hence a built-in for each width.
#if VEC >= 64 && defined(__AVX512F__)
constexpr int kBytes = 64;
#define STREAM __builtin_ia32_movntps512
#elif VEC >= 32 && defined(__AVX__)
constexpr int kBytes = 32;
#define STREAM __builtin_ia32_movntps256
#else
constexpr int kBytes = 16;
#define STREAM __builtin_ia32_movntps
#endif
constexpr int kLanes = kBytes / 4;
constexpr int64_t kMaxColumns = 16384;  // the contract's limit of C

typedef float Vector __attribute__((vector_size(kBytes)));
typedef float Unaligned __attribute__((vector_size(kBytes), aligned(4), may_alias));
typedef float Aligned __attribute__((vector_size(kBytes), may_alias));
typedef int32_t Integers __attribute__((vector_size(kBytes)));
typedef uint32_t Bits __attribute__((vector_size(kBytes)));

#define INLINE static inline __attribute__((always_inline))

INLINE Vector Set(float value) { return Vector{} + value; }
INLINE Vector Load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
INLINE Vector Greater(Vector a, Vector b) { return a > b ? a : b; }
INLINE Vector Less(Vector a, Vector b) { return a < b ? a : b; }

// Where y is too large to be found in a cache later, stores pass by it and reads are announced (NT, PREFETCH). On
// small shapes both would only cost.
constexpr int64_t kLargeShape = 1 << 20;  // elements
constexpr bool kPasses = NT && KEEP != KEEP_output;

// `p` is aligned to the vector.
template <bool kLarge>
INLINE void Store(float* p, Vector v) {
#if defined(__clang__)
  if constexpr (kLarge && kPasses) return __builtin_nontemporal_store(v, reinterpret_cast<Vector*>(p));
#elif defined(__SSE__)
  if constexpr (kLarge && kPasses) return STREAM(p, v);
#endif
  *reinterpret_cast<Aligned*>(p) = v;
}

// Non-temporal stores are not ordered with the release that ends the parallel region.
template <bool kLarge>
INLINE void Fence() {
#if defined(__SSE__)
  if constexpr (kLarge && kPasses) __builtin_ia32_sfence();
#endif
}

// `rest` is in the lanes beyond n. As -inf they count for nothing: exp(-inf) = 0.
INLINE Vector LoadPart(const float* p, int64_t n, float rest = -__builtin_inff()) {
  if (n == 0) return Set(rest);
  alignas(kBytes) float lane[kLanes];
  for (int i = 0; i < kLanes; ++i) lane[i] = rest;
  for (int64_t i = 0; i < n; ++i) lane[i] = p[i];
  return *reinterpret_cast<const Aligned*>(lane);
}

INLINE void StorePart(float* p, int64_t n, Vector v) {
  if (n == 0) return;
  alignas(kBytes) float lane[kLanes];
  *reinterpret_cast<Aligned*>(lane) = v;
  for (int64_t i = 0; i < n; ++i) p[i] = lane[i];
}

INLINE float Sum(Vector v) {
  alignas(kBytes) float lane[kLanes];
  *reinterpret_cast<Aligned*>(lane) = v;
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

INLINE float Greatest(Vector v) {
  alignas(kBytes) float lane[kLanes];
  *reinterpret_cast<Aligned*>(lane) = v;
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = lane[i] > lane[i + half] ? lane[i] : lane[i + half];
  return lane[0];
}

// 2^64 * exp(d) for d <= 0, within 1.5 units in the last place. The factor keeps what would be subnormal at full
// precision until the final product with 1/sum rounds it once. n is found by adding 1.5 * 2^23 (whose last bits are
// then n + 64) and read back as an integer, because a compiler that may reassociate would cancel "t + magic - magic".
// The clamp makes exp(-inf) vanish, and also stands between the two differences so that they cannot be reassociated.
INLINE Vector Exp(Vector d) {
  constexpr int32_t kMagicBits = 0x4B400000 + 64;  // 1.5 * 2^23 + 64
  d = Greater(d, Set(-110.0f));
  const Vector t = d * 1.44269504f + 12582976.0f;
  const Vector n = __builtin_convertvector(reinterpret_cast<Integers>(t) - kMagicBits, Vector);
  Vector r = d - n * 0.693359375f;  // exact: this part of ln 2 has nine bits
#if defined(__x86_64__)
  asm("" : "+v"(r));  // or the two parts would be added up again
#endif
  r -= n * -2.12194440e-4f;
#if DEGREE == 5
  Vector p = Set(0.008314793f) * r + 0.0418903008f;
  p = p * r + 0.166670889f;
  p = p * r + 0.499992311f;
#else
  Vector p = Set(0.00138869404f) * r + 0.00837330706f;
  p = p * r + 0.0416675918f;
  p = p * r + 0.166664734f;
  p = p * r + 0.49999994f;
#endif
  p = (p * r + 1.0f) * r + 1.0f;
  return reinterpret_cast<Vector>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(t) << 23));
}

// e * scale. A product below the normal range is rounded in microcode, at forty times the cost of the rest; a row that
// has any (`kTiny`) gets their bits from an addition to 2^23, whose last place is then worth the smallest subnormal.
constexpr float kNarrow = 77;  // a row whose values lie no further apart has none: exp(-77) / kMaxColumns > 2^-126
template <bool kTiny>
INLINE Vector Scaled(Vector e, float scale) {
  if constexpr (!kTiny) return e * scale;
  const Vector least = Set(0x1.000002p-126f / scale);  // what becomes the smallest normal number, and never less than it
  const float quanta = static_cast<float>(scale * 0x1p149);
  const Vector counted = Less(e, least) * quanta + 0x1p23f;
  const Integers bits = reinterpret_cast<Integers>(counted) - 0x4B000000;
  return e < least ? reinterpret_cast<Vector>(bits) : Greater(e, least) * scale;
}

// Calls `one(k, u)` for the whole vectors k of a row, `u` naming the accumulator to use.
template <class One>
INLINE void Each(int64_t vectors, One one) {
  int64_t k = 0;
  for (; k + UNROLL <= vectors; k += UNROLL)
    for (int u = 0; u < UNROLL; ++u) one((k + u) * kLanes, u);
  for (; k < vectors; ++k) one(k * kLanes, 0);
}

template <bool kLarge>
static void Rows(const float* x, float* y, int64_t from, int64_t to, int64_t columns) {
  alignas(64) float kept[KEEP == KEEP_local ? kMaxColumns : kLanes];
  for (int64_t r = from; r < to; ++r) {
    // A part up to the first vector boundary of y, whole vectors, a part at the end. The bases of x and y are aligned
    // alike, so the cut suits both. The parts are small enough to be kept in registers or done again.
    const float* in = x + r * columns;
    float* out = y + r * columns;
    const int64_t to_boundary = static_cast<int64_t>(-(reinterpret_cast<uintptr_t>(out) / 4) & (kLanes - 1));
    const int64_t head = to_boundary < columns ? to_boundary : columns;
    const int64_t body = (columns - head) / kLanes, tail = columns - head - body * kLanes;
    const Vector first = LoadPart(in, head), final = LoadPart(in + columns - tail, tail);
    in += head;
    out += head;

    const Vector least = Less(LoadPart(in - head, head, __builtin_inff()),
                              LoadPart(in + columns - head - tail, tail, __builtin_inff()));
    Vector max[UNROLL], min[UNROLL];
    for (int u = 0; u < UNROLL; ++u) max[u] = Greater(first, final), min[u] = least;
    Each(
        body, [&](int64_t at, int u) __attribute__((always_inline)) {
          const Vector v = Load(in + at);
          max[u] = Greater(max[u], v);
          min[u] = Less(min[u], v);
        });
    for (int u = 1; u < UNROLL; ++u) {
      max[0] = Greater(max[0], max[u]);
      min[0] = Less(min[0], min[u]);
    }
    const float top = Greatest(max[0]);
    const bool tiny = !(top + Greatest(-min[0]) <= kNarrow);

    const Vector first_exps = Exp(first - top), final_exps = Exp(final - top);
    Vector sum[UNROLL];
    for (int u = 0; u < UNROLL; ++u) sum[u] = Set(0);
    if (head > 0) sum[0] += first_exps;
    if (tail > 0) sum[0] += final_exps;
    Each(
        body, [&](int64_t at, int u) __attribute__((always_inline)) {
          if constexpr (kLarge && PREFETCH > 0) __builtin_prefetch(in + at + PREFETCH * 16, 0, HINT);
          const Vector e = Exp(Load(in + at) - top);
          if constexpr (KEEP == KEEP_local) *reinterpret_cast<Aligned*>(kept + at) = e;
          if constexpr (KEEP == KEEP_output) *reinterpret_cast<Aligned*>(out + at) = e;
          sum[u] += e;
        });
    for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
    const float scale = 1.0f / Sum(sum[0]);

    StorePart(out - head, head, Scaled<true>(first_exps, scale));
    const auto again = [&](int64_t at) __attribute__((always_inline)) {
      if constexpr (KEEP == KEEP_local) return Vector(*reinterpret_cast<const Aligned*>(kept + at));
      if constexpr (KEEP == KEEP_output) return Vector(*reinterpret_cast<const Aligned*>(out + at));
      return Exp(Load(in + at) - top);
    };
    if (tiny) {
      Each(
          body, [&](int64_t at, int) __attribute__((always_inline)) {
            Store<kLarge>(out + at, Scaled<true>(again(at), scale));
          });
    } else {
      Each(
          body, [&](int64_t at, int) __attribute__((always_inline)) {
            Store<kLarge>(out + at, Scaled<false>(again(at), scale));
          });
    }
    StorePart(out + body * kLanes, tail, Scaled<true>(final_exps, scale));
  }
  Fence<kLarge>();
}

}  // namespace

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
#if SCHEDULE == SCHEDULE_block
  const int64_t threads = omp_get_max_threads(), chunk = (R + threads - 1) / threads;
#else
  const int64_t chunk = CHUNK;
#endif
  const int64_t chunks = R > 0 ? (R + chunk - 1) / chunk : 0;
  const bool large = R * C >= kLargeShape;
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp parallel for schedule(dynamic, 1) if (R * C >= FORK)
#else
#pragma omp parallel for schedule(static, 1) if (R * C >= FORK)
#endif
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t from = c * chunk, to = from + chunk < R ? from + chunk : R;
    if (large) {
      Rows<true>(x, y, from, to, C);
    } else {
      Rows<false>(x, y, from, to, C);
    }
  }
}
