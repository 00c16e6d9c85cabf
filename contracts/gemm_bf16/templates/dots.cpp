// SPDX-License-Identifier: Apache-2.0
// A B^T by dot products: nothing is packed, because both operands run along K already.
//
// A tile of MR x NR elements of C has one vector of partial sums each; MR + NR loads feed MR * NR dot-product
// instructions, and the lanes are added up once, at the end of K. The floor at prefill is 2*M*N*K operations at the rate
// of the bf16 dot product (twice that of f32 where the instruction exists, else each pair is widened and costs two
// FMAs); at decode it is 2*N*K bytes of weights over the bandwidth.
// SPAN columns of B pass by all rows of A before the next ones do, and should stay in the second-level cache.
// Deciding: MR x NR (loads for each product against registers), SPAN, at decode AHEAD and NR.
//
// assay:template dots
// assay:knob DOT = hardware | widened
// assay:knob MR = 1..6 default 4
// assay:knob NR = 1..6 default 4
// assay:when 2 <= MR * NR and MR * NR + NR + 2 <= 30
// assay:knob SPAN = 16 | 32 | 64 | 128 | 256 default 64
// assay:knob INNER = rows | columns
// assay:knob UNROLL = 1 | 2 | 4 default 2
// assay:knob AHEAD = 0 | 4 | 8 | 16 | 32 default 8
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -mtune=icelake-server
#include <assay/contract.h>

#include <omp.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))

namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
constexpr int kLanes = kBytes / 4;      // sums
constexpr int kTerms = 2 * kLanes;      // bf16 numbers

typedef float Vector __attribute__((vector_size(kBytes), may_alias));
typedef uint32_t Pairs __attribute__((vector_size(kBytes), may_alias));  // the even term in the low half
typedef uint32_t LoosePairs __attribute__((vector_size(kBytes), aligned(2), may_alias));

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

INLINE int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE Pairs Load(const uint16_t* p) { return *reinterpret_cast<const LoosePairs*>(p); }

INLINE Pairs LoadPart(const uint16_t* p, int64_t n) {  // zero in the terms beyond n
  alignas(kBytes) uint16_t term[kTerms];
  for (int i = 0; i < kTerms; ++i) term[i] = i < n ? p[i] : 0;
  return *reinterpret_cast<const Pairs*>(term);
}

INLINE void Accumulate(Vector& sum, Pairs x, Pairs y) {
#if defined(__AVX512BF16__)
  if constexpr (DOT == DOT_hardware) {
    sum = reinterpret_cast<Vector>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(x),
                                                    reinterpret_cast<__m512bh>(y)));
    return;
  }
#endif
  sum += reinterpret_cast<Vector>(x << 16) * reinterpret_cast<Vector>(y << 16);
  sum += reinterpret_cast<Vector>(x & 0xFFFF0000U) * reinterpret_cast<Vector>(y & 0xFFFF0000U);
}

INLINE float Sum(Vector v) {
  alignas(kBytes) float lane[kLanes];
  *reinterpret_cast<Vector*>(lane) = v;
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

struct Problem {
  const uint16_t *a, *b;
  float* c;
  int64_t M, N, K;  // of the share
  int64_t ldc;
};

// Rows [m, m + R) and columns [n, n + C) of the answer.
template <int R, int C>
__attribute__((noinline)) void Tile(const Problem& p, int64_t m, int64_t n) {
  const uint16_t *a = p.a + m * p.K, *b = p.b + n * p.K;
  Vector sum[R][C];
  For<R * C>([&](auto i) __attribute__((always_inline)) { sum[i / C][i % C] = Vector{}; });
  const auto step = [&](int64_t k, auto load) __attribute__((always_inline)) {
    Pairs y[C];
    For<C>([&](auto j) __attribute__((always_inline)) {
      if constexpr (AHEAD > 0) __builtin_prefetch(b + j * p.K + k + AHEAD * 32, 0, 3);
      y[j] = load(b + j * p.K + k);
    });
    For<R>([&](auto r) __attribute__((always_inline)) {
      const Pairs x = load(a + r * p.K + k);
      For<C>([&](auto j) __attribute__((always_inline)) { Accumulate(sum[r][j], x, y[j]); });
    });
  };
  const auto whole = [](const uint16_t* at) __attribute__((always_inline)) { return Load(at); };
  int64_t k = 0;
  for (; k + UNROLL * kTerms <= p.K; k += UNROLL * kTerms)
    For<UNROLL>([&](auto u) __attribute__((always_inline)) { step(k + u * kTerms, whole); });
  for (; k + kTerms <= p.K; k += kTerms) step(k, whole);
  if (k < p.K) step(k, [&](const uint16_t* at) __attribute__((always_inline)) { return LoadPart(at, p.K - k); });
  For<R * C>([&](auto i) __attribute__((always_inline)) { p.c[(m + i / C) * p.ldc + n + i % C] = Sum(sum[i / C][i % C]); });
}

// The edges of C: a template for each width that is left over would be a lot of code for little time.
template <int R>
void Columns(const Problem& p, int64_t m, int64_t n, int64_t columns) {
  if (columns == NR) return Tile<R, NR>(p, m, n);
  for (int64_t j = 0; j < columns; ++j) Tile<R, 1>(p, m, n + j);
}

void Piece(const Problem& p, int64_t m, int64_t n, int64_t rows, int64_t columns) {
  if (rows == MR) return Columns<MR>(p, m, n, columns);
  for (int64_t r = 0; r < rows; ++r) Columns<1>(p, m + r, n, columns);
}

constexpr int64_t kSpan = (SPAN + NR - 1) / NR * NR;

void Share(const Problem& p) {
  for (int64_t left = 0; left < p.N; left += kSpan) {
    const int64_t right = Smaller(left + kSpan, p.N);
    if (INNER == INNER_columns) {
      for (int64_t m = 0; m < p.M; m += MR)
        for (int64_t n = left; n < right; n += NR) Piece(p, m, n, Smaller(MR, p.M - m), Smaller(NR, right - n));
    } else {
      for (int64_t n = left; n < right; n += NR)
        for (int64_t m = 0; m < p.M; m += MR) Piece(p, m, n, Smaller(MR, p.M - m), Smaller(NR, right - n));
    }
  }
}

}  // namespace

extern "C" void gemm_bf16(const uint16_t* a, const uint16_t* b, float* c, int64_t M, int64_t N, int64_t K) {
  // Whole tiles of the longer side for each thread.
  const bool by_rows = M > N;
  const int64_t unit = by_rows ? MR : NR, side = by_rows ? M : N, units = (side + unit - 1) / unit;
  const int64_t threads = Smaller(omp_get_max_threads(), units);
  const int64_t share = (units + threads - 1) / threads * unit;
#pragma omp parallel for schedule(static, 1) num_threads(static_cast<int>(threads))
  for (int64_t t = 0; t < threads; ++t) {
    const int64_t from = t * share, size = Smaller(share, side - from);
    if (size <= 0) continue;
    if (by_rows) {
      Share({a + from * K, b, c + from * N, size, N, K, N});
    } else {
      Share({a, b + from * K, c + from, M, size, K, N});
    }
  }
}
