// SPDX-License-Identifier: Apache-2.0
// Blocked gemm: both operands packed, terms cut into blocks of KC.
//
// What it does.  For NC columns and KC terms a block of B is packed into panels of NS vectors, then MC rows of A into
// panels of MR rows, and register tiles of MR x NS vectors run over the block.  C is read and written once per KC terms.
// LOOP says what stays in L1 between two tiles: the panel of B, or that of A.  Up to sixteen rows with B in
// place take another way (FewRows), because packing B would cost as much as the product.
//
// Floor.  2*M*N*K operations at the f32 FMA peak.  Above it: packing (2*(M*K + N*K) elements moved, 2-3 % at 1024),
// C once per KC terms (1-2 %), the start and end of each tile.
//
// What decides.  MR x NS (enough accumulators to hide the FMA latency, few enough to stay in registers); KC with NC (the
// block of B must stay in L2); LOOP; MC.
//
// assay:template blocked
// assay:knob MR = 4 | 5 | 6 | 7 | 8 | 9 | 10 | 12 | 14 default 6
// assay:knob NS = 1 | 2 | 3 | 4 | 5 default 2
// assay:when 8 <= MR * NS and MR * NS + NS + 1 <= 32
// assay:knob KC = 128 | 192 | 256 | 384 | 512 default 256
// assay:knob MC = 64 | 128 | 256 | 512 | 1024 default 128
// assay:knob NC = 128 | 256 | 384 | 512 | 1024 default 256
// assay:knob LOOP = b_stays | a_stays
// assay:knob UNROLL = 1 | 2 | 4
// assay:knob FETCH = 0 | 4 | 8 | 16
// assay:knob FEW_TERMS = 4 | 8 | 16 default 8
// assay:knob FEW_COLUMNS = 256 | 512 | 1024 default 512
// assay:flag -march=native
// assay:flag -O3 | -O2
// assay:flag none | -mtune=skylake-avx512 | -mtune=icelake-server
#include <assay/contract.h>

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>

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
typedef float LooseVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

constexpr int kWidth = NS * kLanes;  // columns of a register tile

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

INLINE Vec Load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
INLINE void StoreLoose(float* p, Vec x) { *reinterpret_cast<LooseVec*>(p) = x; }
INLINE int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

template <bool High, int... I>
INLINE Vec Zip(Vec a, Vec b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, ((High ? kLanes / 2 : 0) + I / 2 + (I % 2) * kLanes)...);
}

// Each round of zips rotates the bits of (row, column) by one; log2(lanes) rounds swap the two.
INLINE void Transpose(Vec (&x)[kLanes]) {
  const auto lanes = std::make_integer_sequence<int, kLanes>{};
  For<(kLanes == 16 ? 4 : 3)>([&](auto) __attribute__((always_inline)) {
    Vec y[kLanes];
    For<kLanes / 2>([&](auto i) __attribute__((always_inline)) {
      y[2 * i] = Zip<false>(x[i], x[i + kLanes / 2], lanes);
      y[2 * i + 1] = Zip<true>(x[i], x[i + kLanes / 2], lanes);
    });
    For<kLanes>([&](auto i) __attribute__((always_inline)) { x[i] = y[i]; });
  });
}

// The operands of one call, or of one thread's share of it.
struct Problem {
  const float *a, *b;
  float* c;
  int64_t M, N, K;       // of the share
  int64_t lda, ldb, ldc;
  bool ta, tb;
};

// Rows [m, m + MR) and terms [k, k + terms) of A as [terms][MR]; rows beyond M are zero and never read.  A vector is
// written where MR floats are meant: the next one overwrites what is too much, and the panels end in kLanes spare floats.
INLINE void PackA(const Problem& p, int64_t m, int64_t k, int64_t terms, float* to) {
  const int64_t rows = Smaller(MR, p.M - m);
  if (p.ta) {
    const float* from = p.a + k * p.lda + m;
    if (rows == MR) {
      for (int64_t i = 0; i < terms; ++i) {
        For<MR>([&](auto r) __attribute__((always_inline)) { to[i * MR + r] = from[i * p.lda + r]; });
      }
    } else {
      for (int64_t i = 0; i < terms; ++i) {
        for (int64_t r = 0; r < MR; ++r) to[i * MR + r] = r < rows ? from[i * p.lda + r] : 0.0f;
      }
    }
    return;
  }
  const float* from = p.a + m * p.lda + k;
  int64_t i = 0;
  if constexpr (MR <= kLanes) {
    for (; i + kLanes <= terms; i += kLanes) {
      Vec x[kLanes];
      if (rows == MR) {
        For<kLanes>([&](auto r) __attribute__((always_inline)) { x[r] = r < MR ? Load(from + r * p.lda + i) : Vec{}; });
      } else {
        For<kLanes>([&](auto r) __attribute__((always_inline)) { x[r] = r < rows ? Load(from + r * p.lda + i) : Vec{}; });
      }
      Transpose(x);
      For<kLanes>([&](auto u) __attribute__((always_inline)) { StoreLoose(to + (i + u) * MR, x[u]); });
    }
  }
  for (; i < terms; ++i) {
    for (int64_t r = 0; r < MR; ++r) to[i * MR + r] = r < rows ? from[r * p.lda + i] : 0.0f;
  }
}

// Terms [k, k + terms) and columns [n, n + kWidth) of B as [terms][kWidth]; columns beyond N are zero and never read.
INLINE void PackB(const Problem& p, int64_t n, int64_t k, int64_t terms, float* to) {
  const int64_t columns = Smaller(kWidth, p.N - n);
  if (!p.tb) {
    const float* from = p.b + k * p.ldb + n;
    if (columns == kWidth) {
      for (int64_t i = 0; i < terms; ++i) {
        For<NS>([&](auto v) __attribute__((always_inline)) {
          *reinterpret_cast<Vec*>(to + i * kWidth + v * kLanes) = Load(from + i * p.ldb + v * kLanes);
        });
      }
    } else {
      for (int64_t i = 0; i < terms; ++i) {
        for (int64_t j = 0; j < kWidth; ++j) to[i * kWidth + j] = j < columns ? from[i * p.ldb + j] : 0.0f;
      }
    }
    return;
  }
  for (int v = 0; v < NS; ++v) {
    const int64_t left = columns - v * kLanes;
    const float* from = p.b + (n + v * kLanes) * p.ldb + k;
    float* at = to + v * kLanes;
    int64_t i = 0;
    for (; i + kLanes <= terms; i += kLanes) {
      Vec x[kLanes];
      if (left >= kLanes) {
        For<kLanes>([&](auto j) __attribute__((always_inline)) { x[j] = Load(from + j * p.ldb + i); });
      } else {
        For<kLanes>([&](auto j) __attribute__((always_inline)) { x[j] = j < left ? Load(from + j * p.ldb + i) : Vec{}; });
      }
      Transpose(x);
      For<kLanes>([&](auto u) __attribute__((always_inline)) { *reinterpret_cast<Vec*>(at + (i + u) * kWidth) = x[u]; });
    }
    for (; i < terms; ++i) {
      for (int64_t j = 0; j < kLanes; ++j) at[i * kWidth + j] = j < left ? from[j * p.ldb + i] : 0.0f;
    }
  }
}

// One register tile over some terms.  `first` starts it at zero, else it goes on from C; a tile that hangs over the edge
// of C goes through a small copy.
__attribute__((noinline)) void Tile(const float* a, const float* b, int64_t terms, float* c, int64_t ldc, int64_t rows,
                                    int64_t columns, bool first) {
  alignas(64) float edge[MR * kWidth];
  const bool inside = rows == MR && columns == kWidth;
  float* to = inside ? c : edge;
  const int64_t stride = inside ? ldc : kWidth;
  if (!inside && !first) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < columns; ++j) edge[r * kWidth + j] = c[r * ldc + j];
    }
  }
  For<MR>([&](auto r) __attribute__((always_inline)) {
    For<NS>([&](auto v) __attribute__((always_inline)) { __builtin_prefetch(to + r * stride + v * kLanes, 1, 3); });
  });
  Vec acc[MR][NS];
  For<MR * NS>([&](auto i) __attribute__((always_inline)) { acc[i / NS][i % NS] = Vec{}; });
  const auto step = [&](const float* x, const float* y) __attribute__((always_inline)) {
    Vec column[NS];
    For<NS>([&](auto v) __attribute__((always_inline)) {
      if (FETCH > 0) __builtin_prefetch(y + FETCH * kWidth + v * kLanes, 0, 3);
      column[v] = *reinterpret_cast<const Vec*>(y + v * kLanes);
    });
    For<MR>([&](auto r) __attribute__((always_inline)) {
      const float value = x[r];
      For<NS>([&](auto v) __attribute__((always_inline)) { acc[r][v] += value * column[v]; });
    });
  };
  int64_t k = 0;
  for (; k + UNROLL <= terms; k += UNROLL) {
    For<UNROLL>([&](auto u) __attribute__((always_inline)) { step(a + u * MR, b + u * kWidth); });
    a += UNROLL * MR;
    b += UNROLL * kWidth;
  }
  if constexpr (UNROLL > 1) {
    for (; k < terms; ++k) {
      step(a, b);
      a += MR;
      b += kWidth;
    }
  }
  if (first) {
    For<MR * NS>([&](auto i) __attribute__((always_inline)) { StoreLoose(to + (i / NS) * stride + (i % NS) * kLanes, acc[i / NS][i % NS]); });
  } else {
    For<MR * NS>([&](auto i) __attribute__((always_inline)) {
      float* at = to + (i / NS) * stride + (i % NS) * kLanes;
      StoreLoose(at, Load(at) + acc[i / NS][i % NS]);
    });
  }
  if (!inside) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < columns; ++j) c[r * ldc + j] = edge[r * kWidth + j];
    }
  }
}

constexpr int64_t kFewVecs = FEW_COLUMNS / kLanes;

// Few rows and B not transposed: B is used where it lies, row by row, and the sums stay in L1.  They are kept apart from
// C, whose rows may all fall into the same cache sets as those of B.
template <int R>
void FewRows(const Problem& p, int64_t m, float* a) {
  for (int64_t k = 0; k < p.K; ++k) {
    for (int64_t r = 0; r < R; ++r) a[k * R + r] = p.ta ? p.a[k * p.lda + m + r] : p.a[(m + r) * p.lda + k];
  }
  Vec* sums = reinterpret_cast<Vec*>(a + RoundUp(p.K * R, 16));
  float* c = p.c + m * p.ldc;
  const int64_t whole = p.N / kLanes;
  for (int64_t left = 0; left < whole; left += kFewVecs) {
    const int64_t vecs = Smaller(kFewVecs, whole - left);
    const auto sweep = [&](int64_t k, auto terms) __attribute__((always_inline)) {
      const float* x = a + k * R;
      const float* b = p.b + k * p.ldb + left * kLanes;
      for (int64_t n = 0; n < vecs; ++n) {
        Vec acc[R];
        For<R>([&](auto r) __attribute__((always_inline)) { acc[r] = k == 0 ? Vec{} : sums[n * R + r]; });
        For<terms>([&](auto u) __attribute__((always_inline)) {
          __builtin_prefetch(b + (u + terms) * p.ldb + n * kLanes, 0, 3);
          const Vec y = Load(b + u * p.ldb + n * kLanes);
          For<R>([&](auto r) __attribute__((always_inline)) { acc[r] += x[u * R + r] * y; });
        });
        For<R>([&](auto r) __attribute__((always_inline)) { sums[n * R + r] = acc[r]; });
      }
    };
    int64_t k = 0;
    for (; k + FEW_TERMS <= p.K; k += FEW_TERMS) sweep(k, std::integral_constant<int, FEW_TERMS>{});
    for (; k < p.K; ++k) sweep(k, std::integral_constant<int, 1>{});
    for (int64_t n = 0; n < vecs; ++n) {
      For<R>([&](auto r) __attribute__((always_inline)) { StoreLoose(c + r * p.ldc + (left + n) * kLanes, sums[n * R + r]); });
    }
  }
  for (int64_t n = whole * kLanes; n < p.N; ++n) {
    float sum[R] = {};
    for (int64_t k = 0; k < p.K; ++k) {
      for (int r = 0; r < R; ++r) sum[r] += a[k * R + r] * p.b[k * p.ldb + n];
    }
    for (int r = 0; r < R; ++r) c[r * p.ldc + n] = sum[r];
  }
}

template <int R>
void FewRowsOf(int64_t rows, const Problem& p, int64_t m, float* a) {
  if constexpr (R > 1) {
    if (rows < R) return FewRowsOf<R - 1>(rows, p, m, a);
  }
  FewRows<R>(p, m, a);
}

constexpr int kFewRows = 8;  // at a time; twice as many are still faster this way than through packed panels

constexpr int64_t kRowBlock = (MC + MR - 1) / MR * MR, kColumnBlock = (NC + kWidth - 1) / kWidth * kWidth;

int64_t Floats(const Problem& p) {
  const int64_t terms = Smaller(KC, p.K);
  return RoundUp(Smaller(kColumnBlock, p.N), kWidth) * terms + RoundUp(Smaller(kRowBlock, p.M), MR) * terms + kLanes;
}

void Blocks(const Problem& p, float* memory) {
  for (int64_t jc = 0; jc < p.N; jc += kColumnBlock) {
    const int64_t columns = Smaller(kColumnBlock, p.N - jc);
    for (int64_t pc = 0; pc < p.K; pc += KC) {
      const int64_t terms = Smaller(KC, p.K - pc);
      float* packed_b = memory;
      float* packed_a = memory + RoundUp(columns, kWidth) * terms;
      for (int64_t n = 0; n < columns; n += kWidth) PackB(p, jc + n, pc, terms, packed_b + n * terms);
      for (int64_t ic = 0; ic < p.M; ic += kRowBlock) {
        const int64_t rows = Smaller(kRowBlock, p.M - ic);
        for (int64_t m = 0; m < rows; m += MR) PackA(p, ic + m, pc, terms, packed_a + m * terms);
        const auto tile = [&](int64_t m, int64_t n) {
          Tile(packed_a + m * terms, packed_b + n * terms, terms, p.c + (ic + m) * p.ldc + jc + n, p.ldc,
               Smaller(MR, rows - m), Smaller(kWidth, columns - n), pc == 0);
        };
        if (LOOP == LOOP_b_stays) {
          for (int64_t n = 0; n < columns; n += kWidth) {
            for (int64_t m = 0; m < rows; m += MR) tile(m, n);
          }
        } else {
          for (int64_t m = 0; m < rows; m += MR) {
            for (int64_t n = 0; n < columns; n += kWidth) tile(m, n);
          }
        }
      }
    }
  }
}

void Share(const Problem& p, float* memory) {
  if (p.M <= 2 * kFewRows && !p.tb) {
    for (int64_t m = 0; m < p.M; m += kFewRows) FewRowsOf<kFewRows>(p.M - m, p, m, memory);
  } else {
    Blocks(p, memory);
  }
}

void Run(const Problem& p) {
  // Whole tiles of the longer side for each thread; each packs for itself.
  const bool by_rows = p.M >= p.N;
  const int64_t unit = by_rows ? MR : kWidth, side = by_rows ? p.M : p.N, units = (side + unit - 1) / unit;
  const int64_t threads = Smaller(omp_get_max_threads(), units);
  const int64_t share = (units + threads - 1) / threads * unit;
  int64_t floats = Floats(p);
  const int64_t few = RoundUp(p.K * kFewRows, 16) + FEW_COLUMNS * kFewRows;
  if (floats < few) floats = few;
  floats = RoundUp(floats, 16);
  char* memory = static_cast<char*>(malloc(static_cast<size_t>(threads * floats * 4 + 64)));
  if (!memory) return;
  float* aligned = reinterpret_cast<float*>(memory + (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64);
#pragma omp parallel for schedule(static, 1) num_threads(static_cast<int>(threads))
  for (int64_t t = 0; t < threads; ++t) {
    const int64_t from = t * share, size = Smaller(share, side - from);
    if (size <= 0) continue;
    Problem mine = p;
    if (by_rows) {
      mine.a += from * (p.ta ? 1 : p.lda);
      mine.c += from * p.ldc;
      mine.M = size;
    } else {
      mine.b += from * (p.tb ? p.ldb : 1);
      mine.c += from;
      mine.N = size;
    }
    Share(mine, aligned + t * floats);
  }
  free(memory);
}

}  // namespace

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  Run(Problem{a, b, c, M, N, K, TA ? M : K, TB ? K : N, N, TA != 0, TB != 0});
}
