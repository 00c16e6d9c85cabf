// SPDX-License-Identifier: Apache-2.0
// Residual add and RMSNorm, software-pipelined: one loop scales row i and adds row i+1.
//
// The floor is 16*R*C bytes (x, residual, s, y once each; weight stays in the first-level cache) over the streaming
// bandwidth; the arithmetic, four operations for each element, hides under it.
// Reads and writes alternate evenly all the time. The sum of row i+1 takes the
// place in the buffer that the scaled vector of row i leaves, so the buffer is one row long. BUFFER `output` keeps
// nothing and reads s back instead, which then has to be written through the caches.
// Deciding: NT (reading s and y for ownership would be a third of the traffic), PREFETCH, SCHEDULE.
//
// assay:template pipelined
// assay:knob BUFFER = local | output
// assay:knob NT = 0 | 1 default 1
// assay:knob VEC = 32 | 64 default 64
// assay:knob UNROLL = 1 | 2 | 4 default 2
// assay:knob PREFETCH = 0 | 4 | 8 | 16 | 32 | 64 | 128 default 32
// assay:knob HINT = 0 | 2 | 3 default 3 if PREFETCH > 0
// assay:knob SCHEDULE = block | cyclic | dynamic
// assay:knob CHUNK = 8..256 pow2 default 64 if SCHEDULE != 'block'
// assay:knob FORK = 0 | 4096 | 16384 | 65536 default 16384
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -fno-math-errno
#include <assay/contract.h>
#include <omp.h>
#include <stdint.h>

namespace {

// A vector wider than the machine's would be split by the compiler. GCC has no portable non-temporal store, hence a
// built-in for each width.
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

#define INLINE static inline __attribute__((always_inline))

INLINE Vector Load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }

// Where the outputs are too large to be found in a cache later, stores pass by it and reads are announced (NT,
// PREFETCH). On small shapes both would only cost.
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

INLINE Vector LoadPart(const float* p, int64_t n) {  // zero in the lanes beyond n
  if (n == 0) return Vector{};
  alignas(kBytes) float lane[kLanes];
  for (int i = 0; i < kLanes; ++i) lane[i] = 0;
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

INLINE float Scale(float squares, int64_t columns, float eps) {
  return 1.0f / __builtin_sqrtf(squares / static_cast<float>(columns) + eps);
}

struct Tensors {
  const float *x, *residual, *weight;
  float *y, *s;
  int64_t columns;
  float eps;
};

// A row is cut at the vector boundaries of the outputs: a part at the head, whole vectors, a part at the tail. All
// bases but that of weight, whose rows do not advance, are aligned alike, so that one cut suits all.
struct Row {
  const float *x, *residual;
  float *y, *s;
  int64_t head, body, tail;  // elements, vectors, elements
};

INLINE Row Cut(const Tensors& t, int64_t r) {
  const int64_t at = r * t.columns;
  const int64_t to_boundary = static_cast<int64_t>(-(reinterpret_cast<uintptr_t>(t.y + at) / 4) & (kLanes - 1));
  const int64_t head = to_boundary < t.columns ? to_boundary : t.columns;
  const int64_t body = (t.columns - head) / kLanes;
  return {t.x + at + head,
          t.residual + at + head,
          t.y + at + head,
          t.s + at + head,
          head,
          body,
          t.columns - head - body * kLanes};
}

// Calls `one(at, u)` for the whole vectors of a row, `u` naming the accumulator to use.
template <class One>
INLINE void Each(int64_t from, int64_t to, One one) {
  int64_t k = from;
  for (; k + UNROLL <= to; k += UNROLL)
    for (int u = 0; u < UNROLL; ++u) one((k + u) * kLanes, u);
  for (; k < to; ++k) one(k * kLanes, 0);
}

INLINE float Total(Vector (&squares)[UNROLL]) {
  for (int u = 1; u < UNROLL; ++u) squares[0] += squares[u];
  return Sum(squares[0]);
}

// Scales `last`, whose sums are kept, and adds `next`. An absent row has no elements.
template <bool kLarge>
static float Step(const Tensors& t, const Row& last, const Row& next, float scale, float* kept) {
  constexpr bool kLocal = BUFFER == BUFFER_local;
  const float* weight = t.weight + last.head;
  Vector squares[UNROLL] = {};
  const auto finish = [&](int64_t at, int) __attribute__((always_inline)) {
    const Vector v =
        kLocal ? *reinterpret_cast<const Aligned*>(kept + at) : *reinterpret_cast<const Aligned*>(last.s + at);
    Store<kLarge>(last.y + at, v * scale * Load(weight + at));
  };
  const auto read = [&](int64_t at) __attribute__((always_inline)) {
    if constexpr (kLarge && PREFETCH > 0) {
      __builtin_prefetch(next.x + at + PREFETCH * 16, 0, HINT);
      __builtin_prefetch(next.residual + at + PREFETCH * 16, 0, HINT);
    }
    return Load(next.x + at) + Load(next.residual + at);
  };
  const auto keep = [&](int64_t at, int u, Vector v) __attribute__((always_inline)) {
    Store<kLarge && kLocal>(next.s + at, v);
    if constexpr (kLocal) *reinterpret_cast<Aligned*>(kept + at) = v;
    squares[u] += v * v;
  };
  // The parts at the ends are read back from s, which for them is always written through the caches.
  const auto finish_part = [&](int64_t at, int64_t n) {
    StorePart(last.y + at, n, LoadPart(last.s + at, n) * scale * LoadPart(weight + at, n));
  };
  const auto add_part = [&](int64_t at, int64_t n) {
    const Vector v = LoadPart(next.x + at, n) + LoadPart(next.residual + at, n);
    StorePart(next.s + at, n, v);
    squares[0] += v * v;
  };
  const int64_t common = last.body < next.body ? last.body : next.body;
  finish_part(-last.head, last.head);
  Each(
      0, common, [&](int64_t at, int u) __attribute__((always_inline)) {
        // Reads first: behind a store to the same place in another page they would wait for it.
        const Vector v = read(at);
        finish(at, u);
        keep(at, u, v);
      });
  Each(common, last.body, finish);
  Each(
      common, next.body, [&](int64_t at, int u) __attribute__((always_inline)) { keep(at, u, read(at)); });
  finish_part(last.body * kLanes, last.tail);
  add_part(-next.head, next.head);
  add_part(next.body * kLanes, next.tail);
  return Scale(Total(squares), t.columns, t.eps);
}

template <bool kLarge>
static void Rows(const Tensors& t, int64_t from, int64_t to) {
  alignas(64) float kept[BUFFER == BUFFER_local ? kMaxColumns : kLanes];
  Row last = {t.x, t.residual, t.y, t.s, 0, 0, 0};
  float scale = 0;
  for (int64_t r = from; r <= to; ++r) {
    const Row next = r < to ? Cut(t, r) : Row{t.x, t.residual, t.y, t.s, 0, 0, 0};
    scale = Step<kLarge>(t, last, next, scale, kept);
    last = next;
  }
  Fence<kLarge>();
}

}  // namespace

extern "C" void add_rmsnorm(const float* x, const float* residual, const float* weight, float* y, float* s, int64_t R,
                            int64_t C, float eps) {
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
      Rows<true>({x, residual, weight, y, s, C, eps}, from, to);
    } else {
      Rows<false>({x, residual, weight, y, s, C, eps}, from, to);
    }
  }
}
