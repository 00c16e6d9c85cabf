// SPDX-License-Identifier: Apache-2.0
// Residual add and RMSNorm, ROWS rows at a time: their sums leave at once, and wait in a local buffer for the scale.
//
// The floor is 16*R*C bytes (x, residual, s, y once each; weight stays in the first-level cache) over the streaming
// bandwidth; the arithmetic, four operations for each element, hides under it.
// The second loop only stores; AHEAD (rows) lets it prefetch what the next group
// will read, so that reads and writes overlap. Several rows share each read of weight, but are also several streams.
// Deciding: NT (reading s and y for ownership would be a third of the traffic), PREFETCH and AHEAD, SCHEDULE.
//
// assay:template kept
// assay:knob ROWS = 1 | 2 | 4
// assay:knob AHEAD = 0 | 1
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

constexpr int64_t kStride =
    kMaxColumns + 528;  // not a multiple of a page: rows of the buffer must not share cache sets

// kRows rows from `r` on; more than one only where rows are whole vectors.
template <bool kLarge, int kRows>
static void Group(const Tensors& t, int64_t r, float (*kept)[kStride]) {
  float scale[kRows];
  Row row[kRows];
  Vector head{}, tail{};
  for (int j = 0; j < kRows; ++j) {
    row[j] = Cut(t, r + j);
    const Row& a = row[j];
    Vector squares[UNROLL] = {};
    if constexpr (kRows == 1) {
      head = LoadPart(a.x - a.head, a.head) + LoadPart(a.residual - a.head, a.head);
      StorePart(a.s - a.head, a.head, head);
      squares[0] += head * head;
    }
    Each(
        0, a.body, [&](int64_t at, int u) __attribute__((always_inline)) {
          if constexpr (kLarge && PREFETCH > 0) {
            __builtin_prefetch(a.x + at + PREFETCH * 16, 0, HINT);
            __builtin_prefetch(a.residual + at + PREFETCH * 16, 0, HINT);
          }
          const Vector v = Load(a.x + at) + Load(a.residual + at);
          Store<kLarge>(a.s + at, v);
          *reinterpret_cast<Aligned*>(kept[j] + at) = v;
          squares[u] += v * v;
        });
    if constexpr (kRows == 1) {
      const int64_t at = a.body * kLanes;
      tail = LoadPart(a.x + at, a.tail) + LoadPart(a.residual + at, a.tail);
      StorePart(a.s + at, a.tail, tail);
      squares[0] += tail * tail;
    }
    scale[j] = Scale(Total(squares), t.columns, t.eps);
  }
  const Row& a = row[0];
  const float* weight = t.weight + a.head;
  Each(
      0, a.body, [&](int64_t at, int) __attribute__((always_inline)) {
        const Vector w = Load(weight + at);
        for (int j = 0; j < kRows; ++j) {
          if constexpr (kLarge && AHEAD > 0) {
            __builtin_prefetch(row[j].x + kRows * t.columns + at, 0, 3);
            __builtin_prefetch(row[j].residual + kRows * t.columns + at, 0, 3);
          }
          Store<kLarge>(row[j].y + at, *reinterpret_cast<const Aligned*>(kept[j] + at) * scale[j] * w);
        }
      });
  if constexpr (kRows == 1) {
    const int64_t at = a.body * kLanes;
    StorePart(a.y - a.head, a.head, head * scale[0] * LoadPart(t.weight, a.head));
    StorePart(a.y + at, a.tail, tail * scale[0] * LoadPart(weight + at, a.tail));
  }
}

template <bool kLarge>
static void Rows(const Tensors& t, int64_t from, int64_t to) {
  alignas(64) float kept[ROWS][kStride];
  int64_t r = from;
  if constexpr (ROWS > 1)
    if (t.columns % kLanes == 0)
      for (; r + ROWS <= to; r += ROWS) Group<kLarge, ROWS>(t, r, kept);
  for (; r < to; ++r) Group<kLarge, 1>(t, r, kept);
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
