// SPDX-License-Identifier: Apache-2.0
// Softmax over rows in one pass over x: each block of a row is exponentiated as it arrives, against the maximum so far.
//
// The floor is 8*R*C bytes over the streaming bandwidth. No second look at x is needed: a block keeps, beside its
// exponentials, the maximum it was taken against, and whatever the maximum is in the end, one factor for each block
// mends it while the row is stored. The running sum is rescaled only when the maximum rises, which after the first
// blocks of a row is rare, so the branch is predicted. With OVERLAP the blocks of the last row are stored between those
// of the next.
// Deciding: NT, VEC, OVERLAP, BLOCK (vectors; small ones pay for the maximum across lanes, large ones leave registers).
//
// assay:template online
// assay:knob BLOCK = 4 | 8 | 16 | 32 default 8
// assay:knob OVERLAP = 0 | 1 default 1
// assay:knob NT = 0 | 1 default 1
// assay:knob VEC = 32 | 64 default 64
// assay:knob DEGREE = 5 | 6 default 6
// assay:knob PREFETCH = 0 | 16 | 32 | 64 | 128 | 256 default 64
// assay:knob HINT = 0 | 2 | 3 default 2 if PREFETCH > 0
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
constexpr bool kPasses = NT != 0;

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

// A row cut at the vector boundaries of y: a part at the head, whole vectors, a part at the tail. In the buffer the
// head is vector 0, the whole ones follow from 1. Head and tail are blocks of their own, the first and the last, so
// that block b starts at vector 1 + (b - 1) * BLOCK. The bases of x and y are aligned alike, so the cut suits both.
struct Row {
  const float* x;
  float* y;
  int64_t head, body, tail;  // elements, vectors, elements
  float scale;
  bool tiny;  // some of its results may be below the normal range
};

constexpr int64_t kMaxBlocks = (kMaxColumns / (kLanes * BLOCK) + 3 + kLanes) / kLanes * kLanes;

struct Workspace {
  alignas(64) float exps[kMaxColumns + 2 * kLanes];
  alignas(64) float reference[kMaxBlocks];  // of the row that arrives: the maximum a block was taken against
  alignas(64) float factor[kMaxBlocks];     // of the row that leaves: 2^64 * exp(reference - maximum)
};

INLINE Row Cut(const float* x, float* y, int64_t columns) {
  const int64_t to_boundary = static_cast<int64_t>(-(reinterpret_cast<uintptr_t>(y) / 4) & (kLanes - 1));
  const int64_t head = to_boundary < columns ? to_boundary : columns;
  const int64_t body = (columns - head) / kLanes;
  return {x + head, y + head, head, body, columns - head - body * kLanes, 0, false};
}

struct Running {
  float max;
  Vector min, sum;
};

INLINE Aligned& Slot(Workspace& w, int64_t k) { return *reinterpret_cast<Aligned*>(w.exps + k * kLanes); }

// Neither factor nor sum is let so small that their product would leave the normal range; what is added to a sum that ends
// above 2^64 is less than 2^-40 of it.
static void Raise(Running& running, float max) {
  if (max > running.max) {
    const Vector factor = Greater(Exp(Set(running.max - max)), Set(0x1p-36f)) * 0x1p-64f;
    running.sum = Greater(running.sum, Set(0x1p20f)) * factor;
    running.max = max;
  }
}

// A whole block straight from x; its values stay in registers between the maximum and the exponentials.
template <bool kLarge>
static void Absorb(Workspace& w, Running& running, int64_t block, const float* x) {
  Vector v[BLOCK], max[2], min[2];
  for (int i = 0; i < BLOCK; ++i) {
    if constexpr (kLarge && PREFETCH > 0) __builtin_prefetch(x + i * kLanes + PREFETCH * 16, 0, HINT);
    v[i] = Load(x + i * kLanes);
    max[i % 2] = i < 2 ? v[i] : Greater(max[i % 2], v[i]);
    min[i % 2] = i < 2 ? v[i] : Less(min[i % 2], v[i]);
  }
  running.min = Less(running.min, Less(min[0], min[1]));
  Raise(running, Greatest(Greater(max[0], max[1])));
  w.reference[block] = running.max;
  Vector sum[2] = {Set(0), Set(0)};
  for (int i = 0; i < BLOCK; ++i) {
    const Vector e = Exp(v[i] - running.max);
    Slot(w, 1 + (block - 1) * BLOCK + i) = e;
    sum[i % 2] += e;
  }
  running.sum += sum[0] + sum[1];
}

// Fewer vectors than a block, already in their slots.
static void AbsorbKept(Workspace& w, Running& running, int64_t block, int64_t slot, int64_t n) {
  Vector max = Slot(w, slot);
  for (int64_t i = 1; i < n; ++i) max = Greater(max, Slot(w, slot + i));
  Raise(running, Greatest(max));
  w.reference[block] = running.max;
  for (int64_t i = 0; i < n; ++i) {
    const Vector e = Exp(Slot(w, slot + i) - running.max);
    Slot(w, slot + i) = e;
    running.sum += e;
  }
}

// e * factor / 2^64, an exponential against another maximum. What would fall below the normal range is raised to 2^-94,
// of which no result is left either.
template <bool kTiny>
INLINE Vector Against(Vector e, float factor) {
  // The maximum with 0 keeps a compiler that may reassociate from multiplying `factor` and the row's scale first.
  if constexpr (!kTiny) return Greater(e * (factor * 0x1p-64f), Set(0));
  const float half = factor > 0x1p-93f ? factor * 0x1p-32f : 0x1p-125f;
  const float least = 0x1p-62f / half > 0x1p-93f ? 0x1p-62f / half : 0x1p-93f;
  return Greater(e, Set(least)) * 0x1p-32f * half;
}

constexpr float kUnchanged = 0x1p64f;

template <bool kLarge, bool kTiny>
INLINE void ReleaseAs(Workspace& w, const Row& row, int64_t block) {
  const float factor = w.factor[block];
  const int64_t first = (block - 1) * BLOCK;
  if (factor == kUnchanged) {
    for (int i = 0; i < BLOCK; ++i)
      Store<kLarge>(row.y + (first + i) * kLanes, Scaled<kTiny>(Slot(w, 1 + first + i), row.scale));
  } else {
    for (int i = 0; i < BLOCK; ++i)
      Store<kLarge>(row.y + (first + i) * kLanes, Scaled<kTiny>(Against<kTiny>(Slot(w, 1 + first + i), factor), row.scale));
  }
}

template <bool kLarge>
INLINE void Release(Workspace& w, const Row& row, int64_t block) {
  if (row.tiny) {
    ReleaseAs<kLarge, true>(w, row, block);
  } else {
    ReleaseAs<kLarge, false>(w, row, block);
  }
}

// A vector outside whole blocks, at either end of a row.
INLINE Vector Ending(const Workspace& w, const Row& row, Vector e, int64_t block) {
  return Scaled<true>(Against<true>(e, w.factor[block]), row.scale);
}

// Stores `last`, of which exps and factors are in the workspace, and takes `next` in its place. Either may be absent,
// having no elements; a slot is stored before it is taken.
template <bool kLarge, bool kStore, bool kLoad>
static void Pass(Workspace& w, const Row& last, Row& next) {
  const int64_t last_blocks = kStore ? last.body / BLOCK : 0, next_blocks = kLoad ? next.body / BLOCK : 0;
  Running running = {-__builtin_inff(), Set(__builtin_inff()), Set(0)};
  if (kStore && last.head > 0) StorePart(last.y - last.head, last.head, Ending(w, last, Slot(w, 0), 0));
  if (kLoad && next.head > 0) {
    Slot(w, 0) = LoadPart(next.x - next.head, next.head);
    running.min = LoadPart(next.x - next.head, next.head, __builtin_inff());
    AbsorbKept(w, running, 0, 0, 1);
  }
  const int64_t common = last_blocks < next_blocks ? last_blocks : next_blocks;
  if constexpr (kStore && kLoad)
    for (int64_t b = 1; b <= common; ++b) {
      Release<kLarge>(w, last, b);
      Absorb<kLarge>(w, running, b, next.x + (b - 1) * BLOCK * kLanes);
    }
  if constexpr (kStore) {
    for (int64_t b = common + 1; b <= last_blocks; ++b) Release<kLarge>(w, last, b);
    for (int64_t k = last_blocks * BLOCK; k < last.body; ++k)
      Store<kLarge>(last.y + k * kLanes, Ending(w, last, Slot(w, 1 + k), last_blocks + 1));
    if (last.tail > 0)
      StorePart(last.y + last.body * kLanes, last.tail, Ending(w, last, Slot(w, 1 + last.body), last_blocks + 2));
  }
  if constexpr (kLoad) {
    for (int64_t b = common + 1; b <= next_blocks; ++b)
      Absorb<kLarge>(w, running, b, next.x + (b - 1) * BLOCK * kLanes);
    const int64_t first = next_blocks * BLOCK;
    for (int64_t k = first; k < next.body; ++k) {
      const Vector v = Load(next.x + k * kLanes);
      running.min = Less(running.min, v);
      Slot(w, 1 + k) = v;
    }
    if (first < next.body) AbsorbKept(w, running, next_blocks + 1, 1 + first, next.body - first);
    if (next.tail > 0) {
      Slot(w, 1 + next.body) = LoadPart(next.x + next.body * kLanes, next.tail);
      running.min = Less(running.min, LoadPart(next.x + next.body * kLanes, next.tail, __builtin_inff()));
      AbsorbKept(w, running, next_blocks + 2, 1 + next.body, 1);
    }
    next.tiny = !(running.max + Greatest(-running.min) <= kNarrow);
    next.scale = 1.0f / Sum(running.sum);
    for (int64_t b = 0; b < next_blocks + 3; b += kLanes)
      *reinterpret_cast<Aligned*>(w.factor + b) =
          Exp(*reinterpret_cast<const Aligned*>(w.reference + b) - running.max);
  }
}

template <bool kLarge>
static void Rows(const float* x, float* y, int64_t from, int64_t to, int64_t columns) {
  Workspace w;
  for (int64_t b = 0; b < kMaxBlocks; ++b) w.reference[b] = 0;  // absent blocks have a factor too, which nobody uses
  Row last{}, next{};
#if OVERLAP
  for (int64_t r = from; r <= to; ++r) {
    next = r < to ? Cut(x + r * columns, y + r * columns, columns) : Row{};
    Pass<kLarge, true, true>(w, last, next);
    last = next;
  }
#else
  for (int64_t r = from; r < to; ++r) {
    next = Cut(x + r * columns, y + r * columns, columns);
    Pass<kLarge, false, true>(w, last, next);
    Pass<kLarge, true, false>(w, next, last);
  }
#endif
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
