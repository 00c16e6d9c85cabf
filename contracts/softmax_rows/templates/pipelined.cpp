// SPDX-License-Identifier: Apache-2.0
// Softmax over rows, software-pipelined: while row i is exponentiated, the finished row i-1 leaves and row i+1 arrives.
//
// Every byte of x and y crosses the memory bus once, so the floor is 8*R*C bytes over the streaming bandwidth; the 15
// or so vector operations of an exponential fit under it only when loads and stores never stop for them. Three rows are
// in flight: E(i-1) is scaled and stored, X(i) becomes E(i) in place, X(i+1) is read, kept in the buffer that E(i-1)
// leaves, and its maximum taken. FUSE says how much of that shares one loop: `triple` all three, `pair` the store and
// the load, with the exponentials in a loop of their own, over which PREFETCH (64-byte lines) spreads the next reads.
// Deciding: NT (reading y for ownership is a third of the traffic), VEC, FUSE, PREFETCH with HINT (2: into the second
// level, so that the first one does not lose what it works on); the others are worth little.
//
// assay:template pipelined
// assay:knob FUSE = triple | pair
// assay:knob NT = 0 | 1 default 1
// assay:knob VEC = 32 | 64 default 64
// assay:knob UNROLL = 1 | 2 | 4 default 1
// assay:knob DEGREE = 5 | 6 default 6
// assay:knob PREFETCH = 0 | 16 | 32 | 64 | 128 | 256 default 128
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
// head is vector 0, the whole ones follow from 1. The bases of x and y are aligned alike, so the cut suits both.
struct Row {
  const float* x;
  float* y;
  float* buffer;
  int64_t head, body, tail;  // elements, vectors, elements
  float max, scale;
  bool tiny;  // some of its results may be below the normal range
};

INLINE Row Cut(const float* x, float* y, int64_t columns, float* buffer) {
  const int64_t to_boundary = static_cast<int64_t>(-(reinterpret_cast<uintptr_t>(y) / 4) & (kLanes - 1));
  const int64_t head = to_boundary < columns ? to_boundary : columns;
  const int64_t body = (columns - head) / kLanes;
  return {x, y, buffer, head, body, columns - head - body * kLanes, 0, 0, false};
}

struct Running {
  Vector max[UNROLL], min[UNROLL], sum[UNROLL];
};

INLINE Running Restart() {
  Running running;
  for (int u = 0; u < UNROLL; ++u) {
    running.max[u] = Set(-__builtin_inff());
    running.min[u] = Set(__builtin_inff());
    running.sum[u] = Set(0);
  }
  return running;
}

INLINE Aligned& Slot(const Row& row, int64_t k) { return *reinterpret_cast<Aligned*>(row.buffer + k * kLanes); }

INLINE void LoadSlot(const Row& next, int64_t slot, const float* x, int64_t n, Running& running) {
  if (n == 0) return;
  const Vector v = LoadPart(x, n);
  Slot(next, slot) = v;
  running.max[0] = Greater(running.max[0], v);
  running.min[0] = Less(running.min[0], LoadPart(x, n, __builtin_inff()));
}

INLINE void ExpSlot(const Row& now, int64_t slot, int64_t n, Running& running) {
  if (n == 0) return;
  const Vector e = Exp(Slot(now, slot) - now.max);
  Slot(now, slot) = e;
  running.sum[0] += e;
}

INLINE void StoreSlot(const Row& last, int64_t slot, float* y, int64_t n) {
  if (n > 0) StorePart(y, n, Scaled<true>(Slot(last, slot), last.scale));
}

// Whole vectors [from, to) of up to three rows at once: `last` is stored, `now` exponentiated, `next` read. `last` and
// `next` share a buffer, each vector being read before it is overwritten.
enum Storing { kNothing, kNormal, kAny };
template <bool kLarge, Storing kStore, bool kExp, bool kLoad>
static void Sweep(const Row& last, const Row& now, const Row& next, Running& running, int64_t from, int64_t to) {
  Vector max[UNROLL], min[UNROLL], sum[UNROLL];
  for (int u = 0; u < UNROLL; ++u) max[u] = running.max[u], min[u] = running.min[u], sum[u] = running.sum[u];
  float* const y = last.y + last.head;
  const float* const x = next.x + next.head;
  const float *const done = last.buffer + kLanes, scale = last.scale;
  float *const work = now.buffer + kLanes, *const keep = next.buffer + kLanes;
  const float offset = now.max;
  int64_t k = from;
  const auto one = [&](int64_t at, int u) __attribute__((always_inline)) {
    Vector v;
    if constexpr (kLoad) v = Load(x + at);  // first: behind a store to the same place in another page it would wait
    if constexpr (kStore != kNothing)
      Store<kLarge>(y + at, Scaled<kStore == kAny>(*reinterpret_cast<const Aligned*>(done + at), scale));
    if constexpr (kLoad) {
      *reinterpret_cast<Aligned*>(keep + at) = v;
      max[u] = Greater(max[u], v);
      min[u] = Less(min[u], v);
    }
    if constexpr (kExp) {
      if constexpr (kLarge && PREFETCH > 0) __builtin_prefetch(x + at + PREFETCH * 16, 0, HINT);
      const Vector e = Exp(*reinterpret_cast<const Aligned*>(work + at) - offset);
      *reinterpret_cast<Aligned*>(work + at) = e;
      sum[u] += e;
    }
  };
  for (; k + UNROLL <= to; k += UNROLL)
    for (int u = 0; u < UNROLL; ++u) one((k + u) * kLanes, u);
  for (; k < to; ++k) one(k * kLanes, 0);
  for (int u = 0; u < UNROLL; ++u) running.max[u] = max[u], running.min[u] = min[u], running.sum[u] = sum[u];
}

// The same, with `last` stored as its values ask.
template <bool kLarge, bool kExp, bool kLoad>
INLINE void Sweeping(const Row& last, const Row& now, const Row& next, Running& running, int64_t from, int64_t to) {
  if (last.tiny) {
    Sweep<kLarge, kAny, kExp, kLoad>(last, now, next, running, from, to);
  } else {
    Sweep<kLarge, kNormal, kExp, kLoad>(last, now, next, running, from, to);
  }
}

// An absent row has no elements, so the ends of a chunk need no case of their own. The stores come before the reads
// that overwrite the shared buffer.
template <bool kLarge, bool kExp>
INLINE void Step(const Row& last, Row& now, Row& next) {
  Running running = Restart();
  int64_t common = last.body < next.body ? last.body : next.body;
  if (kExp && now.body < common) common = now.body;
  StoreSlot(last, 0, last.y, last.head);
  LoadSlot(next, 0, next.x, next.head, running);
  Sweeping<kLarge, kExp, true>(last, now, next, running, 0, common);
  Sweeping<kLarge, false, false>(last, now, next, running, common, last.body);
  StoreSlot(last, last.body + 1, last.y + last.head + last.body * kLanes, last.tail);
  Sweep<kLarge, kNothing, false, true>(last, now, next, running, common, next.body);
  LoadSlot(next, next.body + 1, next.x + next.head + next.body * kLanes, next.tail, running);
  if (kExp) {
    Sweep<kLarge, kNothing, true, false>(last, now, next, running, common, now.body);
    ExpSlot(now, 0, now.head, running);
    ExpSlot(now, now.body + 1, now.tail, running);
  }
  for (int u = 1; u < UNROLL; ++u) {
    running.max[0] = Greater(running.max[0], running.max[u]);
    running.min[0] = Less(running.min[0], running.min[u]);
    running.sum[0] += running.sum[u];
  }
  next.max = Greatest(running.max[0]);
  next.tiny = !(next.max + Greatest(-running.min[0]) <= kNarrow);
  if (kExp) now.scale = 1.0f / Sum(running.sum[0]);
}

template <bool kLarge>
static void Rows(const float* x, float* y, int64_t from, int64_t to, int64_t columns) {
  // Half a page of distance keeps a read of one buffer from looking like the write just made to the other.
  constexpr int64_t kStride = kMaxColumns + 2 * kLanes + 512;
  alignas(64) float buffer[2 * kStride];
  Row last{}, now{}, next{};
  const auto row = [&](int64_t r) {
    return r < to ? Cut(x + r * columns, y + r * columns, columns, buffer + (r & 1) * kStride) : Row{};
  };
#if FUSE == FUSE_triple
  // One step beyond either end: to read the first row, and to store the last one.
  for (int64_t r = from - 1; r <= to; ++r) {
    next = row(r + 1);
    Step<kLarge, true>(last, now, next);
    last = now;
    now = next;
  }
#else
  for (int64_t r = from; r <= to; ++r) {
    next = row(r);
    next.buffer = buffer;  // one suffices: a row is stored before the next one is kept
    Step<kLarge, false>(last, now, next);
    Running running = Restart();
    const Row ahead = row(r + 1);
    Sweep<kLarge, kNothing, true, false>(last, next, ahead, running, 0, next.body);
    ExpSlot(next, 0, next.head, running);
    ExpSlot(next, next.body + 1, next.tail, running);
    for (int u = 1; u < UNROLL; ++u) running.sum[0] += running.sum[u];
    next.scale = 1.0f / Sum(running.sum[0]);
    last = next;
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
