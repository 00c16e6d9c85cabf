// SPDX-License-Identifier: Apache-2.0
// A B^T by register tiles: B is packed so that a vector holds one pair of terms of sixteen columns.
//
// For NC columns and KC terms a block of B is transposed, 32 bits (two terms) at a time, into panels of NS vectors; then
// tiles of MR x NS vectors run over the block, each pair of A broadcast from where it lies. C is read and written once
// for each KC terms, no lanes are ever added up. The floor is 2*M*N*K operations at the rate of the bf16 dot product
// (twice that of f32 where the instruction exists, else each pair is widened and costs two FMAs); packing, 2*N*K bytes
// read and written, is small once M is beyond a few tens, and is most of the time at decode: `dots` is for that.
// Deciding: MR x NS (enough accumulators to hide the latency, few enough to stay in registers); KC with NC (the block
// of B must stay in the second-level cache); DOT.
//
// assay:template tiles
// assay:knob DOT = hardware | widened
// assay:knob MR = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 12 | 14 default 6
// assay:knob NS = 1 | 2 | 3 | 4 default 2
// assay:when 4 <= MR * NS and MR * NS + 2 * NS + 2 <= 32
// assay:knob KC = 128 | 256 | 512 | 1024 | 2048 default 512
// assay:knob NC = 64 | 128 | 256 | 512 default 128
// assay:knob INNER = rows | columns
// assay:knob UNROLL = 1 | 2 | 4
// assay:knob FETCH = 0 | 4 | 8 | 16
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -mtune=icelake-server
#include <assay/contract.h>

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>
#include <utility>

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))

namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
constexpr int kBytes = 4 * kLanes;

typedef float Vector __attribute__((vector_size(kBytes), may_alias));
typedef float LooseVector __attribute__((vector_size(kBytes), aligned(4), may_alias));
typedef uint32_t Pairs __attribute__((vector_size(kBytes), may_alias));  // the even term in the low half
typedef uint32_t LoosePairs __attribute__((vector_size(kBytes), aligned(2), may_alias));

constexpr int kWidth = NS * kLanes;  // columns of a register tile

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

INLINE int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

INLINE Pairs LoadLoose(const uint16_t* p) { return *reinterpret_cast<const LoosePairs*>(p); }
INLINE Vector LoadLoose(const float* p) { return *reinterpret_cast<const LooseVector*>(p); }
INLINE void StoreLoose(float* p, Vector x) { *reinterpret_cast<LooseVector*>(p) = x; }

INLINE uint32_t Pair(const uint16_t* p) {
  uint32_t pair;
  memcpy(&pair, p, sizeof pair);
  return pair;
}

template <bool High, int... I>
INLINE Pairs Zip(Pairs a, Pairs b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, ((High ? kLanes / 2 : 0) + I / 2 + (I % 2) * kLanes)...);
}

// Each round of zips rotates the bits of (row, column) by one; log2(lanes) rounds swap the two.
INLINE void Transpose(Pairs (&x)[kLanes]) {
  const auto lanes = std::make_integer_sequence<int, kLanes>{};
  For<(kLanes == 16 ? 4 : 3)>([&](auto) __attribute__((always_inline)) {
    Pairs y[kLanes];
    For<kLanes / 2>([&](auto i) __attribute__((always_inline)) {
      y[2 * i] = Zip<false>(x[i], x[i + kLanes / 2], lanes);
      y[2 * i + 1] = Zip<true>(x[i], x[i + kLanes / 2], lanes);
    });
    For<kLanes>([&](auto i) __attribute__((always_inline)) { x[i] = y[i]; });
  });
}

struct Problem {
  const uint16_t *a, *b;
  float* c;
  int64_t M, N, K;  // of the share
  int64_t ldc;
};

// Columns [n, n + kWidth) and terms [k, k + terms) of B^T as [pairs][kWidth]; what lies beyond N or K is zero and never
// read, so an odd last term is half a pair.
INLINE void PackB(const Problem& p, int64_t n, int64_t k, int64_t terms, uint32_t* to) {
  const int64_t columns = Smaller(kWidth, p.N - n), pairs = (terms + 1) / 2;
  for (int v = 0; v < NS; ++v) {
    const int64_t left = columns - v * kLanes;
    const uint16_t* from = p.b + (n + v * kLanes) * p.K + k;
    uint32_t* at = to + v * kLanes;
    int64_t i = 0;
    for (; 2 * (i + kLanes) <= terms; i += kLanes) {
      Pairs x[kLanes];
      For<kLanes>([&](auto j) __attribute__((always_inline)) {
        x[j] = j < left ? LoadLoose(from + j * p.K + 2 * i) : Pairs{};
      });
      Transpose(x);
      For<kLanes>([&](auto u) __attribute__((always_inline)) { *reinterpret_cast<Pairs*>(at + (i + u) * kWidth) = x[u]; });
    }
    for (; i < pairs; ++i) {
      for (int64_t j = 0; j < kLanes; ++j) {
        uint32_t pair = 0;
        if (j < left) pair = 2 * i + 1 < terms ? Pair(from + j * p.K + 2 * i) : from[j * p.K + 2 * i];
        at[i * kWidth + j] = pair;
      }
    }
  }
}

INLINE Vector Even(Pairs x) { return reinterpret_cast<Vector>(x << 16); }
INLINE Vector Odd(Pairs x) { return reinterpret_cast<Vector>(x & 0xFFFF0000U); }

// One register tile over the pairs of a block. `first` starts it at zero, else it goes on from C; a tile that hangs over
// the edge of C goes through a small copy, and rows that are not there repeat the last one.
__attribute__((noinline)) void Tile(const uint16_t* a, int64_t lda, const uint32_t* b, int64_t terms, float* c,
                                    int64_t ldc, int64_t rows, int64_t columns, bool first) {
  alignas(64) float edge[MR * kWidth];
  const bool inside = rows == MR && columns == kWidth;
  float* to = inside ? c : edge;
  const int64_t stride = inside ? ldc : kWidth;
  if (!inside && !first) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j) edge[r * kWidth + j] = c[r * ldc + j];
  }
  const uint16_t* row[MR];
  For<MR>([&](auto r) __attribute__((always_inline)) { row[r] = a + Smaller(r, rows - 1) * lda; });
  Vector sum[MR][NS];
  For<MR * NS>([&](auto i) __attribute__((always_inline)) { sum[i / NS][i % NS] = Vector{}; });
  const auto step = [&](int64_t k, const uint32_t* y, auto pair_of) __attribute__((always_inline)) {
    Pairs column[NS];
    For<NS>([&](auto v) __attribute__((always_inline)) {
      if (FETCH > 0) __builtin_prefetch(y + FETCH * kWidth + v * kLanes, 0, 3);
      column[v] = *reinterpret_cast<const Pairs*>(y + v * kLanes);
    });
    For<MR>([&](auto r) __attribute__((always_inline)) {
      const Pairs x = Pairs{} + pair_of(row[r] + k);
#if defined(__AVX512BF16__)
      if constexpr (DOT == DOT_hardware) {
        For<NS>([&](auto v) __attribute__((always_inline)) {
          sum[r][v] = reinterpret_cast<Vector>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum[r][v]),
                                                                reinterpret_cast<__m512bh>(x),
                                                                reinterpret_cast<__m512bh>(column[v])));
        });
        return;
      }
#endif
      For<NS>([&](auto v) __attribute__((always_inline)) {
        sum[r][v] += Even(x) * Even(column[v]);
        sum[r][v] += Odd(x) * Odd(column[v]);
      });
    });
  };
  const auto whole = [](const uint16_t* at) __attribute__((always_inline)) { return Pair(at); };
  int64_t k = 0;
  for (; k + 2 * UNROLL <= terms; k += 2 * UNROLL)
    For<UNROLL>([&](auto u) __attribute__((always_inline)) { step(k + 2 * u, b + (k / 2 + u) * kWidth, whole); });
  for (; k + 2 <= terms; k += 2) step(k, b + k / 2 * kWidth, whole);
  if (k < terms)
    step(k, b + k / 2 * kWidth, [](const uint16_t* at) __attribute__((always_inline)) { return uint32_t{*at}; });
  For<MR * NS>([&](auto i) __attribute__((always_inline)) {
    float* at = to + (i / NS) * stride + (i % NS) * kLanes;
    StoreLoose(at, first ? sum[i / NS][i % NS] : LoadLoose(at) + sum[i / NS][i % NS]);
  });
  if (!inside) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j) c[r * ldc + j] = edge[r * kWidth + j];
  }
}

constexpr int64_t kColumnBlock = (NC + kWidth - 1) / kWidth * kWidth;

int64_t Words(const Problem& p) {
  return RoundUp(RoundUp(Smaller(kColumnBlock, p.N), kWidth) * ((Smaller(KC, p.K) + 1) / 2), 16);
}

void Share(const Problem& p, uint32_t* packed) {
  for (int64_t jc = 0; jc < p.N; jc += kColumnBlock) {
    const int64_t columns = Smaller(kColumnBlock, p.N - jc);
    for (int64_t pc = 0; pc < p.K; pc += KC) {
      const int64_t terms = Smaller(KC, p.K - pc), pairs = (terms + 1) / 2;
      for (int64_t n = 0; n < columns; n += kWidth) PackB(p, jc + n, pc, terms, packed + n * pairs);
      const auto tile = [&](int64_t m, int64_t n) {
        Tile(p.a + m * p.K + pc, p.K, packed + n * pairs, terms, p.c + m * p.ldc + jc + n, p.ldc,
             Smaller(MR, p.M - m), Smaller(kWidth, columns - n), pc == 0);
      };
      if (INNER == INNER_rows) {
        for (int64_t n = 0; n < columns; n += kWidth)
          for (int64_t m = 0; m < p.M; m += MR) tile(m, n);
      } else {
        for (int64_t m = 0; m < p.M; m += MR)
          for (int64_t n = 0; n < columns; n += kWidth) tile(m, n);
      }
    }
  }
}

}  // namespace

extern "C" void gemm_bf16(const uint16_t* a, const uint16_t* b, float* c, int64_t M, int64_t N, int64_t K) {
  // Whole tiles of columns for each thread, so that B is packed once; of rows where there are more of them.
  const bool by_rows = M > N;
  const int64_t unit = by_rows ? MR : kWidth, side = by_rows ? M : N, units = (side + unit - 1) / unit;
  const int64_t threads = Smaller(omp_get_max_threads(), units);
  const int64_t share = (units + threads - 1) / threads * unit;
  const int64_t words = Words({a, b, c, M, N, K, N});
  char* memory = static_cast<char*>(malloc(static_cast<size_t>(threads * words * 4 + 64)));
  if (!memory) return;
  auto* aligned = reinterpret_cast<uint32_t*>(memory + (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64);
#pragma omp parallel for schedule(static, 1) num_threads(static_cast<int>(threads))
  for (int64_t t = 0; t < threads; ++t) {
    const int64_t from = t * share, size = Smaller(share, side - from);
    if (size <= 0) continue;
    uint32_t* packed = aligned + t * words;
    if (by_rows) {
      Share({a + from * K, b, c + from * N, size, N, K, N}, packed);
    } else {
      Share({a, b + from * K, c + from, M, size, K, N}, packed);
    }
  }
  free(memory);
}
