// SPDX-License-Identifier: Apache-2.0
// Weights where they lie: dot products along the terms, a tile of MR rows of `a` by NR rows of `w` at once.
//
// What it does.  Each accumulator holds sixteen partial sums of one element, 64 terms a step, so nothing is rearranged and
// a call costs no preparation; the price is adding up sixteen lanes for each element at the end, a third of the work at
// K = 1024.  Weights get 128 added on the way, and 128 times the sum of the row of `a` comes off again.
//
// Floor.  N*K bytes from memory for few rows, which it is made for; the int8 peak is out of reach.
//
// What decides.  MR x NR; FETCH for one row.
//
// assay:template rows
// assay:knob MR = 1 | 2 | 3 | 4 | 6 default 2
// assay:knob NR = 1 | 2 | 4 | 6 | 8 default 4
// assay:when MR * NR + MR + NR + 2 <= 32
// assay:knob FETCH = 0 | 1 | 2 | 4 | 8 default 2
// assay:knob GROUP = 1 | 2 | 4 | 8 default 4
// assay:knob ROWS = 16 | 32 | 64 | 128 default 32
// assay:knob FORK = 0 | 65536 | 1048576 default 65536
// assay:flag -march=native
// assay:flag -O3 | -O2
// assay:flag none | -fno-tree-vectorize
#include <assay/contract.h>

#include <omp.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include <type_traits>
#include <utility>

#define INLINE inline __attribute__((always_inline))

namespace {

constexpr int kStep = 64;  // terms

typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint8_t Bytes __attribute__((vector_size(64)));
typedef uint8_t LooseBytes __attribute__((vector_size(64), aligned(1), may_alias));

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

INLINE int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE Bytes Load(const int8_t* p) { return *reinterpret_cast<const LooseBytes*>(p); }
INLINE Bytes LoadPart(const int8_t* p, int64_t n) {
  Bytes bytes = {};
  memcpy(&bytes, p, (size_t)n);
  return bytes;
}

// Adds to each lane four products of unsigned with signed bytes.
INLINE Ints DotFour(Ints sum, Bytes unsigned_bytes, Bytes signed_bytes) {
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
  return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)unsigned_bytes, (__m512i)signed_bytes);
#else
  const Ints x = (Ints)unsigned_bytes, y = (Ints)signed_bytes;
  for (int i = 0; i < 4; ++i) sum += ((x >> (8 * i)) & 255) * ((y << (24 - 8 * i)) >> 24);
  return sum;
#endif
}

INLINE int32_t Total(Ints v) {
  int32_t total = 0;
  for (int i = 0; i < 16; ++i) total += v[i];
  return total;
}

struct Problem {
  const int8_t *a, *w;
  const int32_t* bias;
  const float* wscale;
  int8_t* out;
  int64_t M, N, K;
  float ascale, oscale;
  int32_t azero, ozero;
};

int8_t Code(const Problem& p, int32_t sum, int64_t n) {
  float x = (float)sum * (p.ascale * p.wscale[n] / p.oscale) + (float)p.ozero;
  x = x < -128.0f ? -128.0f : x > 127.0f ? 127.0f : x;
  return (int8_t)(int32_t)((x + 12582912.0f) - 12582912.0f);  // to the nearest, ties to even
}

template <int R, int C>
void Tile(const Problem& p, int64_t m, int64_t n) {
  const int8_t* a = p.a + m * p.K;
  const int8_t* w = p.w + n * p.K;
  Ints sums[R][C], a_sums[R], w_sums[C];
  For<R * C>([&](auto i) __attribute__((always_inline)) { sums[i / C][i % C] = Ints{}; });
  For<R>([&](auto r) __attribute__((always_inline)) { a_sums[r] = Ints{}; });
  For<C>([&](auto c) __attribute__((always_inline)) { w_sums[c] = Ints{}; });
  const Bytes ones = Bytes{} + (uint8_t)1;
  const auto step = [&](auto&& load, int64_t k) __attribute__((always_inline)) {
    Bytes x[R];
    For<R>([&](auto r) __attribute__((always_inline)) {
      x[r] = load(a + r * p.K + k);
      a_sums[r] = DotFour(a_sums[r], ones, x[r]);
    });
    For<C>([&](auto c) __attribute__((always_inline)) {
      if (FETCH > 0) __builtin_prefetch(w + c * p.K + k + FETCH * C * kStep, 0, 3);
      const Bytes y = load(w + c * p.K + k);
      w_sums[c] = DotFour(w_sums[c], ones, y);
      const Bytes raised = y ^ (uint8_t)128;
      For<R>([&](auto r) __attribute__((always_inline)) { sums[r][c] = DotFour(sums[r][c], raised, x[r]); });
    });
  };
  int64_t k = 0;
  for (; k + kStep <= p.K; k += kStep) step(Load, k);
  // Terms beyond the end are zero in both rows: the raised weight then meets a zero.
  if (k < p.K) step([&](const int8_t* at) __attribute__((always_inline)) { return LoadPart(at, p.K - k); }, k);
  For<R>([&](auto r) __attribute__((always_inline)) {
    const int32_t a_sum = Total(a_sums[r]);
    For<C>([&](auto c) __attribute__((always_inline)) {
      const int32_t sum = Total(sums[r][c]) - 128 * a_sum - p.azero * Total(w_sums[c]) + (p.bias ? p.bias[n + c] : 0);
      p.out[(m + r) * p.N + n + c] = Code(p, sum, n + c);
    });
  });
}

template <int R, int C>
void TileOf(int64_t rows, int64_t columns, const Problem& p, int64_t m, int64_t n) {
  if (rows < R) {
    if constexpr (R > 1) TileOf<R - 1, C>(rows, columns, p, m, n);
  } else if (columns < C) {
    if constexpr (C > 1) TileOf<R, C - 1>(rows, columns, p, m, n);
  } else {
    Tile<R, C>(p, m, n);
  }
}

constexpr int64_t kColumns = NR * GROUP;

}  // namespace

extern "C" void quantized_gemm(const int8_t* a, const int8_t* w, const int32_t* bias, const float* wscale, int8_t* out,
                               int64_t M, int64_t N, int64_t K, float ascale, int32_t azero, float oscale,
                               int32_t ozero) {
  const Problem p{a, w, bias, wscale, out, M, N, K, ascale, oscale, azero, ozero};
  const int64_t groups = (N + kColumns - 1) / kColumns, blocks = (M + ROWS - 1) / ROWS;
#pragma omp parallel for schedule(static) if (M * N * K >= FORK)
  for (int64_t i = 0; i < groups * blocks; ++i) {
    const int64_t m_to = Smaller((i % blocks + 1) * ROWS, M), n_to = Smaller((i / blocks + 1) * kColumns, N);
    for (int64_t m = i % blocks * ROWS; m < m_to; m += MR) {
      for (int64_t n = i / blocks * kColumns; n < n_to; n += NR) TileOf<MR, NR>(m_to - m, n_to - n, p, m, n);
    }
  }
}
