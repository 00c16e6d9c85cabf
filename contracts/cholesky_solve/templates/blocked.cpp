// SPDX-License-Identifier: Apache-2.0
// Blocked factorisation A = U'U, one system to a thread, in a buffer that stays in the second-level cache.
//
// What it does.  NB rows of U are made at once, then taken off everything below them by register tiles of MR rows by NS
// vectors, so that most of the work is a matrix product with unit stride on both sides. Right-hand sides wait in a buffer
// of whole vectors; both triangles run over tiles of TR rows of it. Quotients become products with reciprocals of pivots.
//
// Floor.  N^3/3 + 2*N^2*M operations at the f32 FMA peak for each system.
//
// What decides.  NB (the panel is scalar work along the diagonal, the rest is not); MR x NS; TR for many right-hand sides.
//
// assay:template blocked
// assay:knob NB = 4 | 8 | 16 | 32 | 64 default 16
// assay:knob MR = 2 | 4 | 6 | 8 default 4
// assay:knob NS = 1 | 2 | 3 | 4 default 2
// assay:when MR * NS + NS + 1 <= 30
// assay:knob TR = 2 | 4 | 8 default 4
// assay:knob TS = 1 | 2 | 4 default 1
// assay:when TR * TS + TS + 1 <= 30
// assay:knob SCHEDULE = static | dynamic
// assay:knob FORK = 0 | 32768 | 262144 default 32768
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -fno-trapping-math
// assay:flag none | -fno-math-errno
#include <assay/contract.h>

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>
#include <utility>

#define INLINE inline __attribute__((always_inline))

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes), may_alias));

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

INLINE int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }
INLINE Vec& At(float* p) { return *reinterpret_cast<Vec*>(p); }

constexpr int64_t kTile = NS * kLanes, kSides = TS * kLanes;

// Rows of U are padded to whole tiles; what a tile writes beyond the diagonal or beyond N is never read.
INLINE int64_t Leading(int64_t N) { return RoundUp(N, kTile) + kTile; }
INLINE int64_t LeadingOfSides(int64_t M) { return RoundUp(M, kSides); }

// Rows [k, k + rows) of U from what earlier rows left of them, and the reciprocals of their pivots.
void Panel(float* u, float* reciprocal, int64_t N, int64_t ld, int64_t k, int64_t rows) {
  for (int64_t i = k; i < k + rows; ++i) {
    float* row = u + i * ld;
    const int64_t from = i / kLanes * kLanes;
    for (int64_t p = k; p < i; ++p) {
      const float factor = u[p * ld + i];
      for (int64_t j = from; j < N; j += kLanes) At(row + j) -= factor * At(u + p * ld + j);
    }
    reciprocal[i] = 1.0f / sqrtf(row[i]);
    for (int64_t j = from; j < N; j += kLanes) At(row + j) *= reciprocal[i];
  }
}

// Takes rows [k, k + terms) off R rows from i on.
template <int R>
void Update(float* u, int64_t N, int64_t ld, int64_t k, int64_t terms, int64_t i) {
  for (int64_t j = i / kLanes * kLanes; j < N; j += kTile) {
    Vec acc[R][NS];
    For<R * NS>([&](auto n) __attribute__((always_inline)) { acc[n / NS][n % NS] = At(u + (i + n / NS) * ld + j + n % NS * kLanes); });
    for (int64_t p = k; p < k + terms; ++p) {
      const float* from = u + p * ld;
      Vec row[NS];
      For<NS>([&](auto v) __attribute__((always_inline)) { row[v] = *reinterpret_cast<const Vec*>(from + j + v * kLanes); });
      For<R>([&](auto r) __attribute__((always_inline)) {
        For<NS>([&](auto v) __attribute__((always_inline)) { acc[r][v] -= from[i + r] * row[v]; });
      });
    }
    For<R * NS>([&](auto n) __attribute__((always_inline)) { At(u + (i + n / NS) * ld + j + n % NS * kLanes) = acc[n / NS][n % NS]; });
  }
}

template <int R>
void UpdateOf(int64_t rows, float* u, int64_t N, int64_t ld, int64_t k, int64_t terms, int64_t i) {
  if constexpr (R > 1) {
    if (rows < R) return UpdateOf<R - 1>(rows, u, N, ld, k, terms, i);
  }
  Update<R>(u, N, ld, k, terms, i);
}

void Factor(float* u, float* reciprocal, int64_t N, int64_t ld) {
  for (int64_t k = 0; k < N; k += NB) {
    const int64_t rows = Smaller(NB, N - k);
    Panel(u, reciprocal, N, ld, k, rows);
    for (int64_t i = k + rows; i < N; i += MR) UpdateOf<MR>(N - i, u, N, ld, k, rows, i);
  }
}

// One tile of R unknowns by TS vectors of right-hand sides, for U' y = b or for U x = y: those already known are taken
// off, then the tile's own triangle is solved.
template <bool kTransposed, int R>
void Solve(const float* u, const float* reciprocal, float* y, int64_t N, int64_t ld, int64_t ldy, int64_t i, int64_t m) {
  Vec acc[R][TS];
  For<R * TS>([&](auto n) __attribute__((always_inline)) { acc[n / TS][n % TS] = At(y + (i + n / TS) * ldy + m + n % TS * kLanes); });
  const int64_t from = kTransposed ? 0 : i + R, to = kTransposed ? i : N;
  for (int64_t p = from; p < to; ++p) {
    Vec known[TS];
    For<TS>([&](auto v) __attribute__((always_inline)) { known[v] = At(y + p * ldy + m + v * kLanes); });
    For<R>([&](auto r) __attribute__((always_inline)) {
      const float factor = kTransposed ? u[p * ld + i + r] : u[(i + r) * ld + p];
      For<TS>([&](auto v) __attribute__((always_inline)) { acc[r][v] -= factor * known[v]; });
    });
  }
  For<R>([&](auto n) __attribute__((always_inline)) {
    constexpr int kOrder = n, r = kTransposed ? kOrder : R - 1 - kOrder;
    For<TS>([&](auto v) __attribute__((always_inline)) { acc[r][v] *= reciprocal[i + r]; });
    For<R - 1 - kOrder>([&](auto rest) __attribute__((always_inline)) {
      constexpr int other = kTransposed ? r + 1 + rest : r - 1 - rest;
      const float factor = kTransposed ? u[(i + r) * ld + i + other] : u[(i + other) * ld + i + r];
      For<TS>([&](auto v) __attribute__((always_inline)) { acc[other][v] -= factor * acc[r][v]; });
    });
  });
  For<R * TS>([&](auto n) __attribute__((always_inline)) { At(y + (i + n / TS) * ldy + m + n % TS * kLanes) = acc[n / TS][n % TS]; });
}

template <bool kTransposed, int R>
void SolveOf(int64_t rows, const float* u, const float* reciprocal, float* y, int64_t N, int64_t ld, int64_t ldy, int64_t i,
             int64_t m) {
  if constexpr (R > 1) {
    if (rows < R) return SolveOf<kTransposed, R - 1>(rows, u, reciprocal, y, N, ld, ldy, i, m);
  }
  Solve<kTransposed, R>(u, reciprocal, y, N, ld, ldy, i, m);
}

int64_t Floats(int64_t N, int64_t M) { return RoundUp(N * Leading(N) + N * LeadingOfSides(M) + N, 16); }

void One(const float* a, const float* b, float* x, int64_t N, int64_t M, float* memory) {
  const int64_t ld = Leading(N), ldy = LeadingOfSides(M);
  float* u = memory;
  float* y = u + N * ld;
  float* reciprocal = y + N * ldy;
  memset(memory, 0, sizeof(float) * (size_t)(N * ld + N * ldy));
  for (int64_t i = 0; i < N; ++i) memcpy(u + i * ld + i, a + i * N + i, sizeof(float) * (size_t)(N - i));
  for (int64_t i = 0; i < N; ++i) memcpy(y + i * ldy, b + i * M, sizeof(float) * (size_t)M);
  Factor(u, reciprocal, N, ld);
  for (int64_t i = 0; i < N; i += TR) {
    for (int64_t m = 0; m < ldy; m += kSides) SolveOf<true, TR>(N - i, u, reciprocal, y, N, ld, ldy, i, m);
  }
  // The last tile is the short one here, too, so that both ways meet the same rows.
  for (int64_t i = RoundUp(N, TR) - TR; i >= 0; i -= TR) {
    for (int64_t m = 0; m < ldy; m += kSides) SolveOf<false, TR>(N - i, u, reciprocal, y, N, ld, ldy, i, m);
  }
  for (int64_t i = 0; i < N; ++i) memcpy(x + i * M, y + i * ldy, sizeof(float) * (size_t)M);
}

}  // namespace

extern "C" void cholesky_solve(const float* a, const float* b, float* x, int64_t B, int64_t N, int64_t M) {
  const int64_t threads = Smaller(omp_get_max_threads(), B), floats = Floats(N, M);
  char* memory = static_cast<char*>(malloc((size_t)(threads * floats * 4 + 64)));
  if (!memory) return;
  float* aligned = reinterpret_cast<float*>(memory + (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64);
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast<int>(threads)) if (B * N * N * (N + M) >= FORK)
#else
#pragma omp parallel for schedule(static) num_threads(static_cast<int>(threads)) if (B * N * N * (N + M) >= FORK)
#endif
  for (int64_t i = 0; i < B; ++i) {
    One(a + i * N * N, b + i * N * M, x + i * N * M, N, M, aligned + omp_get_thread_num() * floats);
  }
  free(memory);
}
