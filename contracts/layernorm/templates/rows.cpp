// SPDX-License-Identifier: Apache-2.0
// LayerNorm row by row: the statistics, then the row once more from the first-level cache.
//
// The floor is 8*R*C bytes over the streaming bandwidth; seven operations for each element hide under it as long as they
// are vectors. STATS says how the statistics are found. `passes`: the mean, then the deviations from it, two looks at
// the row. `chunks`: one look; CHUNK vectors at a time have their own mean and squares for each lane, in registers, and
// are joined to what was seen before by the rule of Chan, Golub and LeVeque, whose factors depend on the place alone.
// Deciding: NT, PREFETCH, STATS, VEC; on small shapes FORK and UNROLL.
//
// assay:template rows
// assay:knob STATS = passes | chunks
// assay:knob CHUNK_VECTORS = 4 | 8 | 16 default 8 if STATS == 'chunks'
// assay:knob NT = 0 | 1 default 1
// assay:knob VEC = 32 | 64 default 64
// assay:knob UNROLL = 1 | 2 | 4 | 8 default 4
// assay:knob PREFETCH = 0 | 8 | 16 | 32 | 64 | 128 default 32
// assay:knob HINT = 0 | 2 | 3 default 3 if PREFETCH > 0
// assay:knob SCHEDULE = block | cyclic | dynamic
// assay:knob ROWS_AT_ONCE = 8..256 pow2 default 64 if SCHEDULE != 'block'
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

INLINE float Sum(Vector v) {
  alignas(kBytes) float lane[kLanes];
  *reinterpret_cast<Aligned*>(lane) = v;
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

struct Tensors {
  const float *x, *gain, *bias;
  float *y, *mean, *rstd;
  int64_t columns;
  float eps;
};

// A row is cut at the vector boundaries of y: a part at the head, whole vectors, a part at the tail. The bases of x and
// y are aligned alike, so that the cut suits both.
struct Row {
  const float* x;
  float* y;
  int64_t head, body, columns;  // elements, vectors, elements in all
};

INLINE Row Cut(const Tensors& t, int64_t r) {
  float* y = t.y + r * t.columns;
  const int64_t to_boundary = static_cast<int64_t>(-(reinterpret_cast<uintptr_t>(y) / 4) & (kLanes - 1));
  const int64_t head = to_boundary < t.columns ? to_boundary : t.columns;
  return {t.x + r * t.columns, y, head, (t.columns - head) / kLanes, t.columns};
}

// Calls `one(at, u)` for the whole vectors of a row, `u` naming the accumulator to use.
template <class One>
INLINE void Each(const Row& row, One one) {
  int64_t k = 0;
  for (; k + UNROLL <= row.body; k += UNROLL)
    for (int u = 0; u < UNROLL; ++u) one(row.head + (k + u) * kLanes, u);
  for (; k < row.body; ++k) one(row.head + k * kLanes, 0);
}

// Calls `one(c)` for the elements before and after the whole vectors.
template <class One>
INLINE void EachEnd(const Row& row, One one) {
  for (int64_t c = 0; c < row.head; ++c) one(c);
  for (int64_t c = row.head + row.body * kLanes; c < row.columns; ++c) one(c);
}

template <bool kLarge>
INLINE Vector First(const Row& row, int64_t at) {
  if constexpr (kLarge && PREFETCH > 0) __builtin_prefetch(row.x + at + PREFETCH * 16, 0, HINT);
  return Load(row.x + at);
}

struct Moments {
  float mean, squares;  // the mean, and the sum of squared deviations from it
};

template <bool kLarge>
INLINE Moments InPasses(const Row& row) {
  Vector sums[UNROLL] = {}, squares[UNROLL] = {};
  Each(
      row, [&](int64_t at, int u) __attribute__((always_inline)) { sums[u] += First<kLarge>(row, at); });
  for (int u = 1; u < UNROLL; ++u) sums[0] += sums[u];
  float sum = Sum(sums[0]);
  EachEnd(row, [&](int64_t c) { sum += row.x[c]; });
  const float mean = sum / static_cast<float>(row.columns);
  Each(
      row, [&](int64_t at, int u) __attribute__((always_inline)) {
        const Vector d = Load(row.x + at) - mean;
        squares[u] += d * d;
      });
  for (int u = 1; u < UNROLL; ++u) squares[0] += squares[u];
  float square = Sum(squares[0]);
  EachEnd(row, [&](int64_t c) { square += (row.x[c] - mean) * (row.x[c] - mean); });
  return {mean, square};
}

// Two samples joined: the distance of their means weighs in with n*m/(n+m).
INLINE Moments Join(Moments a, float n, Moments b, float m) {
  const float distance = b.mean - a.mean, share = m / (n + m);
  return {a.mean + distance * share, a.squares + b.squares + distance * distance * n * share};
}

// The same with as many samples as lanes. N vectors from `at` on join the `seen` ones before them.
template <bool kLarge, int N>
INLINE void JoinChunk(const Row& row, int64_t at, float seen, Vector& mean, Vector& squares) {
  Vector v[N], sum{}, square{};
  for (int i = 0; i < N; ++i) {
    v[i] = First<kLarge>(row, at + i * kLanes);
    sum += v[i];
  }
  sum *= 1.0f / N;
  for (int i = 0; i < N; ++i) {
    const Vector d = v[i] - sum;
    square += d * d;
  }
  const float share = N / (seen + N);
  const Vector distance = sum - mean;
  mean += distance * share;
  squares += square + distance * distance * (seen * share);
}

template <bool kLarge>
INLINE Moments InChunks(const Row& row) {
  Vector mean{}, squares{};
  int64_t k = 0;
  for (; k + CHUNK_VECTORS <= row.body; k += CHUNK_VECTORS)
    JoinChunk<kLarge, CHUNK_VECTORS>(row, row.head + k * kLanes, static_cast<float>(k), mean, squares);
  for (; k < row.body; ++k) JoinChunk<kLarge, 1>(row, row.head + k * kLanes, static_cast<float>(k), mean, squares);
  Moments all{0, 0};
  float seen = 0;
  if (row.body > 0) {
    // All lanes have seen equally many, so their means' mean and the distances from it are enough.
    const float middle = Sum(mean) / kLanes;
    const Vector d = mean - middle;
    all = {middle, Sum(squares) + Sum(d * d) * static_cast<float>(row.body)};
    seen = static_cast<float>(row.body * kLanes);
  }
  EachEnd(row, [&](int64_t c) {
    all = Join(all, seen, {row.x[c], 0}, 1);
    seen += 1;
  });
  return all;
}

template <bool kLarge>
static void Rows(const Tensors& t, int64_t from, int64_t to) {
  for (int64_t r = from; r < to; ++r) {
    const Row row = Cut(t, r);
    const Moments m = STATS == STATS_passes ? InPasses<kLarge>(row) : InChunks<kLarge>(row);
    const float scale = 1.0f / __builtin_sqrtf(m.squares / static_cast<float>(t.columns) + t.eps);
    EachEnd(row, [&](int64_t c) { row.y[c] = (row.x[c] - m.mean) * scale * t.gain[c] + t.bias[c]; });
    Each(
        row, [&](int64_t at, int) __attribute__((always_inline)) {
          Store<kLarge>(row.y + at, (Load(row.x + at) - m.mean) * scale * Load(t.gain + at) + Load(t.bias + at));
        });
    if (t.mean != nullptr) t.mean[r] = m.mean;
    if (t.rstd != nullptr) t.rstd[r] = scale;
  }
  Fence<kLarge>();
}

}  // namespace

extern "C" void layernorm(const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd,
                          int64_t R, int64_t C, float eps) {
#if SCHEDULE == SCHEDULE_block
  const int64_t threads = omp_get_max_threads(), chunk = (R + threads - 1) / threads;
#else
  const int64_t chunk = ROWS_AT_ONCE;
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
      Rows<true>({x, gain, bias, y, mean, rstd, C, eps}, from, to);
    } else {
      Rows<false>({x, gain, bias, y, mean, rstd, C, eps}, from, to);
    }
  }
}
