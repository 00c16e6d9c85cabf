// SPDX-License-Identifier: Apache-2.0
// Residual add and RMSNorm in two passes over BATCH rows, nothing kept but a scale for each row.
//
// The floor is 16*R*C bytes (x, residual, s, y once each; weight stays in the first-level cache) over the streaming
// bandwidth; the arithmetic, four operations for each element, hides under it.
// What the second pass needs is still in a cache, BATCH choosing which one, and SECOND
// choosing what it is: the `inputs` again (the first pass then writes nothing, the second writes both outputs), or the
// `sum` that the first pass has written, which for that must go through the caches.
// Deciding: SECOND with NT (`sum` reads s for ownership), BATCH, PREFETCH.
//
// assay:template reread
// assay:knob SECOND = inputs | sum
// assay:knob BATCH = 1 | 2 | 4 | 8 | 16
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

constexpr bool kSum = SECOND == SECOND_sum;

template <bool kLarge>
static float Squares(const Row& a) {
  Vector squares[UNROLL] = {};
  const auto add = [&](int64_t at, int64_t n) {
    const Vector v = LoadPart(a.x + at, n) + LoadPart(a.residual + at, n);
    if constexpr (kSum) StorePart(a.s + at, n, v);
    squares[0] += v * v;
  };
  add(-a.head, a.head);
  Each(
      0, a.body, [&](int64_t at, int u) __attribute__((always_inline)) {
        if constexpr (kLarge && PREFETCH > 0) {
          __builtin_prefetch(a.x + at + PREFETCH * 16, 0, HINT);
          __builtin_prefetch(a.residual + at + PREFETCH * 16, 0, HINT);
        }
        const Vector v = Load(a.x + at) + Load(a.residual + at);
        if constexpr (kSum) *reinterpret_cast<Aligned*>(a.s + at) = v;
        squares[u] += v * v;
      });
  add(a.body * kLanes, a.tail);
  return Total(squares);
}

template <bool kLarge>
static void Finish(const Row& a, const float* weight, float scale) {
  const auto part = [&](int64_t at, int64_t n) {
    const Vector v = LoadPart(a.x + at, n) + LoadPart(a.residual + at, n);
    if constexpr (!kSum) StorePart(a.s + at, n, v);
    StorePart(a.y + at, n, v * scale * LoadPart(weight + at, n));
  };
  part(-a.head, a.head);
  Each(
      0, a.body, [&](int64_t at, int) __attribute__((always_inline)) {
        const Vector v = kSum ? Load(a.s + at) : Load(a.x + at) + Load(a.residual + at);
        if constexpr (!kSum) Store<kLarge>(a.s + at, v);
        Store<kLarge>(a.y + at, v * scale * Load(weight + at));
      });
  part(a.body * kLanes, a.tail);
}

template <bool kLarge>
static void Rows(const Tensors& t, int64_t from, int64_t to) {
  for (int64_t r = from; r < to; r += BATCH) {
    const int64_t n = to - r < BATCH ? to - r : BATCH;
    float scale[BATCH];
    for (int64_t j = 0; j < n; ++j) scale[j] = Scale(Squares<kLarge>(Cut(t, r + j)), t.columns, t.eps);
    for (int64_t j = 0; j < n; ++j) {
      const Row a = Cut(t, r + j);
      Finish<kLarge>(a, t.weight + a.head, scale[j]);
    }
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
