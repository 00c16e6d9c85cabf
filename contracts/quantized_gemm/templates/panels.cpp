// SPDX-License-Identifier: Apache-2.0
// Weights packed once into panels of NS vectors of columns, four terms beside one another, for the four-term integer dot
// product that recent processors have; register tiles of MR rows by NS vectors over all terms.
//
// What it does.  Weights are stored with 128 added, as unsigned numbers, which is what that instruction takes on one side;
// 128 times the sum of a row of `a` comes off again at the end, and the zero point times the sum of the weights with it.
// The sum stays in registers from the first term to the last, so nothing but codes is ever written.
//
// Floor.  2*M*N*K operations at the int8 peak for many rows; N*K bytes from memory for few.
//
// What decides.  MR x NS (accumulators enough to hide the latency, few enough for the registers); ROWS (how many rows go
// over a panel while it is in a cache); FETCH for few rows.
//
// assay:template panels
// assay:knob MR = 1 | 2 | 4 | 6 | 8 | 10 | 12 | 14 default 8
// assay:knob NS = 1 | 2 | 3 | 4 | 6 default 2
// assay:when 2 <= MR * NS and MR * NS + NS + 1 <= 32
// assay:knob ROWS = 16 | 32 | 64 | 128 | 256 | 512 default 128
// assay:knob UNROLL = 1 | 2 | 4 default 2
// assay:knob FETCH = 0 | 4 | 8 | 16 | 32 default 8
// assay:knob SCHEDULE = block | dynamic
// assay:knob FORK = 0 | 65536 | 1048576 default 65536
// assay:flag -march=native
// assay:flag -O3 | -O2
// assay:flag none | -mtune=icelake-server
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

constexpr int kLanes = 16;
constexpr int64_t kWidth = NS * kLanes;  // columns of a panel

typedef int32_t Ints __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));
typedef float LooseFloats __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(64), may_alias));
typedef int8_t Codes __attribute__((vector_size(16)));
typedef int8_t LooseCodes __attribute__((vector_size(16), aligned(1), may_alias));
typedef int32_t LooseInts __attribute__((vector_size(64), aligned(1), may_alias));

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

INLINE int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t RoundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

// Adds to each lane four products of unsigned with signed bytes.
INLINE Ints DotFour(Ints sum, Bytes unsigned_bytes, Ints signed_bytes) {
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
  return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)unsigned_bytes, (__m512i)signed_bytes);
#else
  const Ints x = (Ints)unsigned_bytes;
  for (int i = 0; i < 4; ++i) sum += ((x >> (8 * i)) & 255) * ((signed_bytes << (24 - 8 * i)) >> 24);
  return sum;
#endif
}

INLINE int32_t Four(const int8_t* a) {
  int32_t four;
  memcpy(&four, a, 4);
  return four;
}

// The last one to three terms of a row; what lies beyond counts as zero and is not read.
INLINE int32_t Part(const int8_t* a, int64_t terms) {
  int32_t four = 0;
  for (int64_t i = 0; i < terms; ++i) four |= (int32_t)((uint32_t)(uint8_t)a[i] << (8 * i));
  return four;
}

// Packed: panels of [K/4][NS][16][4] bytes, then for each column the sum of its weights.
int64_t Quads(int64_t K) { return (K + 3) / 4; }
int64_t PanelBytes(int64_t K) { return Quads(K) * kWidth * 4; }

struct Problem {
  const int8_t* a;
  const uint8_t* panels;
  const int32_t* weight_sums;
  const int32_t* bias;
  const float* wscale;
  int8_t* out;
  int64_t M, N, K;
  float ascale, oscale;
  int32_t azero, ozero;
};

INLINE int32_t SumOf(const int8_t* a, int64_t K) {
  Ints sums = {};
  int64_t k = 0;
  for (; k + 64 <= K; k += 64) sums = DotFour(sums, Bytes{} + (uint8_t)1, *reinterpret_cast<const LooseInts*>(a + k));
  int32_t sum = 0;
  for (; k < K; ++k) sum += a[k];
  for (int i = 0; i < kLanes; ++i) sum += sums[i];
  return sum;
}

// Codes of one row of a tile from its sums. Clamped first: a float beyond the integers converts to anything.
INLINE void Finish(const Problem& p, const Ints (&sums)[NS], int32_t row_sum, const Ints (&base)[NS],
                   const Floats (&factor)[NS], int64_t columns, int8_t* out) {
  For<NS>([&](auto v) __attribute__((always_inline)) {
    const int64_t left = columns - v * kLanes;
    if (left <= 0) return;
    const Ints sum = sums[v] + base[v] - 128 * row_sum;
    Floats x = __builtin_convertvector(sum, Floats) * factor[v] + (float)p.ozero;
    x = x < -128.0f ? Floats{} - 128.0f : x;
    x = x > 127.0f ? Floats{} + 127.0f : x;
    // Adding and taking off 1.5 * 2^23 rounds to the nearest integer, ties to even.
    x = (x + 12582912.0f) - 12582912.0f;
    const Codes codes = __builtin_convertvector(__builtin_convertvector(x, Ints), Codes);
    if (left >= kLanes) {
      *reinterpret_cast<LooseCodes*>(out + v * kLanes) = codes;
    } else {
      memcpy(out + v * kLanes, &codes, (size_t)left);
    }
  });
}

template <int R>
void Tile(const Problem& p, int64_t m, int64_t n, const Ints (&base)[NS], const Floats (&factor)[NS]) {
  const int8_t* a = p.a + m * p.K;
  const uint8_t* w = p.panels + n / kWidth * PanelBytes(p.K);
  Ints sums[R][NS];
  For<R * NS>([&](auto i) __attribute__((always_inline)) { sums[i / NS][i % NS] = Ints{}; });
  const auto step = [&](auto&& four, const uint8_t* from) __attribute__((always_inline)) {
    Bytes column[NS];
    For<NS>([&](auto v) __attribute__((always_inline)) {
      if (FETCH > 0) __builtin_prefetch(from + FETCH * kWidth * 4 + v * 64, 0, 3);
      column[v] = *reinterpret_cast<const Bytes*>(from + v * 64);
    });
    For<R>([&](auto r) __attribute__((always_inline)) {
      const Ints x = Ints{} + four(r);
      For<NS>([&](auto v) __attribute__((always_inline)) { sums[r][v] = DotFour(sums[r][v], column[v], x); });
    });
  };
  int64_t k = 0;
  for (; k + 4 * UNROLL <= p.K; k += 4 * UNROLL) {
    For<UNROLL>([&](auto u) __attribute__((always_inline)) {
      step([&](int r) __attribute__((always_inline)) { return Four(a + r * p.K + k + 4 * u); }, w + (k + 4 * u) * kWidth);
    });
  }
  for (; k + 4 <= p.K; k += 4) {
    step([&](int r) __attribute__((always_inline)) { return Four(a + r * p.K + k); }, w + k * kWidth);
  }
  if (k < p.K) {
    step([&](int r) __attribute__((always_inline)) { return Part(a + r * p.K + k, p.K - k); }, w + k * kWidth);
  }
  for (int r = 0; r < R; ++r) {
    Finish(p, sums[r], SumOf(a + r * p.K, p.K), base, factor, p.N - n, p.out + (m + r) * p.N + n);
  }
}

template <int R>
void TileOf(int64_t rows, const Problem& p, int64_t m, int64_t n, const Ints (&base)[NS], const Floats (&factor)[NS]) {
  if constexpr (R > 1) {
    if (rows < R) return TileOf<R - 1>(rows, p, m, n, base, factor);
  }
  Tile<R>(p, m, n, base, factor);
}

// Rows [from, to) with one panel.
void Panel(const Problem& p, int64_t from, int64_t to, int64_t n) {
  alignas(64) int32_t bases[kWidth] = {};
  alignas(64) float factors[kWidth] = {};
  for (int64_t i = 0; i < Smaller(kWidth, p.N - n); ++i) {
    bases[i] = (p.bias ? p.bias[n + i] : 0) - p.azero * p.weight_sums[n + i];
    factors[i] = p.ascale * p.wscale[n + i] / p.oscale;
  }
  Ints base[NS];
  Floats factor[NS];
  memcpy(base, bases, sizeof base);
  memcpy(factor, factors, sizeof factor);
  for (int64_t m = from; m < to; m += MR) TileOf<MR>(to - m, p, m, n, base, factor);
}

}  // namespace

extern "C" int64_t quantized_gemm_packed(int64_t, int64_t N, int64_t K) {
  const int64_t panels = RoundUp(N, kWidth) / kWidth;
  return panels * PanelBytes(K) + panels * kWidth * 4;
}

extern "C" void quantized_gemm_prepare(const int8_t* w, int64_t, int64_t N, int64_t K, void* packed) {
  const int64_t panels = RoundUp(N, kWidth) / kWidth;
  uint8_t* to = static_cast<uint8_t*>(packed);
  int32_t* sums = reinterpret_cast<int32_t*>(to + panels * PanelBytes(K));
#pragma omp parallel for schedule(static)
  for (int64_t panel = 0; panel < panels; ++panel) {
    uint8_t* at = to + panel * PanelBytes(K);
    memset(at, 0, (size_t)PanelBytes(K));
    for (int64_t i = 0; i < kWidth; ++i) {
      const int64_t n = panel * kWidth + i;
      sums[n] = n < N ? SumOf(w + n * K, K) : 0;
      for (int64_t k = 0; n < N && k < K; ++k) {
        at[(k / 4 * kWidth + i) * 4 + k % 4] = (uint8_t)(w[n * K + k] + 128);
      }
    }
  }
}

extern "C" void quantized_gemm(const int8_t* a, const int8_t* w, const int32_t* bias, const float* wscale, int8_t* out,
                               int64_t M, int64_t N, int64_t K, float ascale, int32_t azero, float oscale,
                               int32_t ozero) {
  const int64_t panels = RoundUp(N, kWidth) / kWidth, blocks = RoundUp(M, ROWS) / ROWS;
  const uint8_t* packed = reinterpret_cast<const uint8_t*>(w);
  const Problem p{a,   packed, reinterpret_cast<const int32_t*>(packed + panels * PanelBytes(K)),
                  bias, wscale, out, M, N, K, ascale, oscale, azero, ozero};
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp parallel for schedule(dynamic, 4) if (M * N * K >= FORK)
#else
#pragma omp parallel for schedule(static) if (M * N * K >= FORK)
#endif
  for (int64_t i = 0; i < panels * blocks; ++i) {
    const int64_t from = i % blocks * ROWS;
    Panel(p, from, Smaller(from + ROWS, M), i / blocks * kWidth);
  }
}
