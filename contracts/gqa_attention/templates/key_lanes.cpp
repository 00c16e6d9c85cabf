// SPDX-License-Identifier: Apache-2.0
// Flash attention with the keys in the vector lanes.
//
// What it does.  K is packed once per call, transposed, into panels of NS vectors of keys; V is copied into panels of NP
// vectors of columns, because its own stride maps every row to the same few cache sets.  The query heads of one
// key-value head are neighbours in memory and share their keys, so they are interleaved as rows: row = time * group +
// head.  A register tile of MR rows then spans few time steps and little is computed beyond the diagonal.  Per tile
// and block of keys: scores (MR x NS vectors in registers, masked and reduced to a row maximum before they are
// stored), softmax in place, then O += P V with the online rescale folded into the load of the accumulator.
// TILES tiles share a block of keys before the next one is brought in.
//
// Floor.  2*B*H*T*(T+1)*D operations at the f32 FMA peak.  Above it: the exponentials (one vector costs about nine
// FMA slots, 3 % at D = 128), the keys computed beyond the diagonal (1-2 %), packing (1 %), accumulator traffic (1 %).
//
// What decides.  MR x NS and MR x NP (enough accumulators to hide the FMA latency, few enough to stay in registers);
// KEY_BLOCK (scores and probabilities of one tile must stay in L1, the block's K and V in L2); TILES.
//
// assay:template key_lanes
// assay:knob MR = 4 | 5 | 6 | 7 | 8 | 9 | 10 | 12 | 14 default 6
// assay:knob NS = 1 | 2 | 3 | 4 | 5 default 2
// assay:knob NP = 1 | 2 | 3 | 4 default 2
// assay:when 8 <= MR * NS and MR * NS + NS + 1 <= 32
// assay:when 8 <= MR * NP and MR * NP + NP + 1 <= 32
// assay:knob KEY_BLOCK = 128 | 192 | 256 | 384 | 512 | 768 default 256
// assay:knob TILES = 2 | 4 | 6 | 8 | 12 default 4
// assay:knob UNROLL_QK = 1 | 2 | 4
// assay:knob UNROLL_PV = 1 | 2 | 4
// assay:knob Q_LAYOUT = rows | columns
// assay:knob FETCH = 0 | 8 | 16 | 32 default 8
// assay:knob AHEAD = 0 | 1 | 2 | 3 default 2
// assay:knob STORE = stream | plain
// assay:knob HEADS = 2 | 4 | 8 | 16 default 8
// assay:knob ORDER = by_length | by_head
// assay:flag -march=native
// assay:flag -O3 | -O2
// assay:flag none | -mtune=skylake-avx512 | -mtune=icelake-server
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
typedef float LooseVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(4 * kLanes), may_alias));
typedef uint32_t WordVec __attribute__((vector_size(4 * kLanes), may_alias));

constexpr int kPanel = NS * kLanes;                                     // keys in one panel of K
constexpr int kBlock = (KEY_BLOCK < kPanel ? 1 : KEY_BLOCK / kPanel) * kPanel;
constexpr int kStride = kBlock + kLanes;                                // one vector more: rows must not alias in L1
constexpr int kRowVecs = (MR + kLanes - 1) / kLanes;
constexpr float kMasked = -1e30f;                                       // finite, below every score
constexpr int64_t kPackedBytes = int64_t{24} << 20;                     // stays under malloc's largest mmap threshold

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

INLINE Vec Broadcast(float x) { return x - Vec{}; }
INLINE Vec Load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
INLINE void Store(float* p, Vec x) { *reinterpret_cast<Vec*>(p) = x; }
// Past the caches where the compiler has a builtin for it.  Rows of o are whole cache lines.
INLINE void Write(float* p, Vec x) {
#if defined(__clang__)
  if (STORE == STORE_stream) return __builtin_nontemporal_store(x, reinterpret_cast<Vec*>(p));
#elif defined(__AVX512F__)
  if (STORE == STORE_stream) return __builtin_ia32_movntps512(p, x);
#elif defined(__AVX__)
  if (STORE == STORE_stream) return __builtin_ia32_movntps256(p, x);
#endif
  *reinterpret_cast<Vec*>(p) = x;
}

INLINE Vec Larger(Vec a, Vec b) { return a > b ? a : b; }  // one vmaxps, NaN rules included

template <int... I>
INLINE IntVec Iota(std::integer_sequence<int, I...>) {
  return IntVec{I...};
}

// 2^x for x <= 0, zero below 2^-127.  Round to nearest by a magic addend whose low bits are the exponent, then a polynomial
// of degree 6 on [-1/2, 1/2]: relative error below 1.4 u, and exactly 1 at 0.  The exponent is added as an integer; at
// the clamp the polynomial is exactly 1 and the sum of bits exactly 0.
INLINE Vec Exp2(Vec x) {
  const Vec magic = Broadcast(12582912.0f);
  // For x <= 0 a larger magnitude is a larger unsigned word, and an integer minimum leaves the FMA pipes free.
  const WordVec word = reinterpret_cast<WordVec>(x), least = reinterpret_cast<WordVec>(Broadcast(-127.0f));
  x = reinterpret_cast<Vec>(word < least ? word : least);
  const Vec shifted = x + magic;
  const Vec f = x - (shifted - magic);
  Vec p = Broadcast(1.559468656e-04f);
  p = p * f + 1.340664690e-03f;
  p = p * f + 9.617692791e-03f;
  p = p * f + 5.550310388e-02f;
  p = p * f + 2.402265221e-01f;
  p = p * f + 6.931472421e-01f;
  p = p * f + 1.0f;
  return reinterpret_cast<Vec>(reinterpret_cast<IntVec>(p) + (reinterpret_cast<IntVec>(shifted) << 23));
}

// ln(x) for normal x > 0 by 2 atanh((m - 1) / (m + 1)), m in [sqrt(1/2), sqrt(2)); relative error below 2 u.
INLINE Vec Log(Vec x) {
  const IntVec bits = reinterpret_cast<IntVec>(x), exponent = (bits - 0x3f3504f3) >> 23;
  const Vec m = reinterpret_cast<Vec>(bits - (exponent << 23));
  const Vec t = (m - 1.0f) / (m + 1.0f), t2 = t * t;
  Vec p = Broadcast(2.0f / 9.0f);
  p = p * t2 + 2.0f / 7.0f;
  p = p * t2 + 2.0f / 5.0f;
  p = p * t2 + 2.0f / 3.0f;
  p = p * t2 * t + 2.0f * t;
  return __builtin_convertvector(exponent, Vec) * 0.693147181f + p;
}

template <int Half, int... I>
INLINE Vec Swapped(Vec x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x, x, (I ^ Half)...);
}

INLINE float MaxLane(Vec x) {
  const auto lanes = std::make_integer_sequence<int, kLanes>{};
  if constexpr (kLanes == 16) x = Larger(x, Swapped<8>(x, lanes));
  x = Larger(x, Swapped<4>(x, lanes));
  x = Larger(x, Swapped<2>(x, lanes));
  x = Larger(x, Swapped<1>(x, lanes));
  return x[0];
}

INLINE float SumLanes(Vec x) {
  const auto lanes = std::make_integer_sequence<int, kLanes>{};
  if constexpr (kLanes == 16) x += Swapped<8>(x, lanes);
  x += Swapped<4>(x, lanes);
  x += Swapped<2>(x, lanes);
  x += Swapped<1>(x, lanes);
  return x[0];
}

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

struct Problem {
  const float *q, *k, *v;
  float *o, *lse;
  int64_t B, T, H, KV, ldk;
  float scale;
  int64_t group, rows, padded_keys;
};

// The rows of q that this thread computes next and the rows of o that it writes at the end of the present ones are far
// from the core: each is used once per call.  They are asked for in small portions between the register tiles.
struct Ahead {
  const Problem* p;
  int64_t head, row, rows, present_head, present_row, present_rows;
  bool late;  // asked for too early, they would be pushed out again by the keys and values that pass through

  template <int D>
  INLINE void Next() {
    if (AHEAD == 0 || !late) return;
    for (int n = 0; n < AHEAD; ++n) {
      if (rows > 0) {
        const float* at = p->q + Offset(head, row) * D;
        for (int i = 0; i < D; i += 16) __builtin_prefetch(at + i, 0, 3);
        ++row;
        --rows;
      } else if (STORE != STORE_stream && present_rows > 0) {
        const float* at = p->o + Offset(present_head, present_row) * D;
        for (int i = 0; i < D; i += 16) __builtin_prefetch(at + i, 1, 3);
        ++present_row;
        --present_rows;
      }
    }
  }

  INLINE int64_t Offset(int64_t h, int64_t r) const {
    const int32_t time = static_cast<int32_t>(r) / static_cast<int32_t>(p->group);
    return (h / p->KV * p->T + time) * p->H + h % p->KV * p->group + (r - time * p->group);
  }
};

// One panel of keys of one head, transposed to [D][kPanel]; keys beyond T are zero and never read.
template <int D>
void PackKeys(const Problem& p, int64_t head, int64_t panel, float* to) {
  const int64_t b = head / p.KV, kv = head % p.KV;
  const float* from = p.k + b * p.T * p.ldk + kv * D;
  for (int v = 0; v < NS; ++v) {
    const int64_t key = panel * kPanel + v * kLanes;
    for (int d = 0; d < D; d += kLanes) {
      Vec x[kLanes];
      if (key + kLanes <= p.T) {
        For<kLanes>([&](auto i) __attribute__((always_inline)) { x[i] = Load(from + (key + i) * p.ldk + d); __builtin_prefetch(from + (key + i) * p.ldk + d + D, 0, 3); });
      } else {
        For<kLanes>([&](auto i) __attribute__((always_inline)) {
          x[i] = key + i < p.T ? Load(from + (key + i) * p.ldk + d) : Vec{};
        });
      }
      Transpose(x);
      For<kLanes>([&](auto i) __attribute__((always_inline)) { Store(to + (d + i) * kPanel + v * kLanes, x[i]); });
    }
  }
}

// Some rows of V of one head, copied into column panels [panel][T][width].
template <int D>
void PackValues(const Problem& p, int64_t head, int64_t first, int64_t last, float* to) {
  const int64_t b = head / p.KV, kv = head % p.KV;
  constexpr int kVecs = D / kLanes;
  for (int64_t j = first; j < last; ++j) {
    const float* from = p.v + ((b * p.T + j) * p.KV + kv) * D;
    for (int i = 0; i < D; i += 16) __builtin_prefetch(from + D + i, 0, 3);
    For<kVecs>([&](auto i) __attribute__((always_inline)) {
      constexpr int panel = i / NP, width = (kVecs - panel * NP < NP ? kVecs - panel * NP : NP) * kLanes;
      Store(to + panel * NP * kLanes * p.T + j * width + (i % NP) * kLanes, Load(from + i * kLanes));
    });
  }
}

// MR rows against N vectors of keys in each of `panels` panels.  Rows at an edge see keys up to their own time only:
// past[r] counts the keys that row r sees from the first of the first panel on, less one.
template <int D, int N>
__attribute__((noinline)) void Scores(const float* q, const float* keys, float* s, Vec* maxima, int panels,
                                      const int32_t* past, Ahead& ahead) {
  Vec largest[MR];
  For<MR>([&](auto r) __attribute__((always_inline)) { largest[r] = maxima[r]; });
  for (int panel = 0; panel < panels; ++panel) {
    ahead.Next<D>();
    Vec acc[MR][N];
    For<MR * N>([&](auto i) __attribute__((always_inline)) { acc[i / N][i % N] = Vec{}; });
    const float* x = q;
    for (int d = 0; d < D; d += UNROLL_QK) {
      For<UNROLL_QK>([&](auto u) __attribute__((always_inline)) {
        Vec key[N];
        For<N>([&](auto n) __attribute__((always_inline)) {
          if (FETCH > 0) __builtin_prefetch(keys + (u + FETCH) * kPanel + n * kLanes, 0, 3);
          key[n] = *reinterpret_cast<const Vec*>(keys + u * kPanel + n * kLanes);
        });
        For<MR>([&](auto r) __attribute__((always_inline)) {
          const float value = Q_LAYOUT == Q_LAYOUT_columns ? x[u * MR + r] : x[r * D + u];
          For<N>([&](auto n) __attribute__((always_inline)) { acc[r][n] += value * key[n]; });
        });
      });
      x += Q_LAYOUT == Q_LAYOUT_columns ? UNROLL_QK * MR : UNROLL_QK;
      keys += UNROLL_QK * kPanel;
    }
    const int32_t first = panel * kPanel;
    if (past[0] < first + kPanel - 1) {  // the earliest row decides
      const IntVec lane = Iota(std::make_integer_sequence<int, kLanes>{});
      For<MR * N>([&](auto i) __attribute__((always_inline)) {
        constexpr int r = i / N, n = i % N;
        acc[r][n] = lane <= past[r] - first - n * kLanes ? acc[r][n] : Broadcast(kMasked);
      });
    }
    For<MR>([&](auto r) __attribute__((always_inline)) {
      For<N>([&](auto n) __attribute__((always_inline)) {
        Store(s + r * kStride + n * kLanes, acc[r][n]);
        largest[r] = Larger(largest[r], acc[r][n]);
      });
    });
    s += kPanel;
  }
  For<MR>([&](auto r) __attribute__((always_inline)) { maxima[r] = largest[r]; });
}

// The vectors of keys that do not fill a panel.
template <int D, int N>
INLINE void RestOfScores(int n, const float* q, const float* keys, float* s, Vec* maxima, const int32_t* past, Ahead& ahead) {
  if constexpr (N > 0) {
    if (n == N) Scores<D, N>(q, keys, s, maxima, 1, past, ahead);
    RestOfScores<D, N - 1>(n, q, keys, s, maxima, past, ahead);
  }
}

// O += P V for N vectors of columns; the rescale of the online softmax costs one product per accumulator.
template <int D, int N>
__attribute__((noinline)) void Values(const float* p, const float* values, float* o, const float* alpha, bool first,
                                      int64_t keys) {
  Vec acc[MR][N];
  if (first) {
    For<MR * N>([&](auto i) __attribute__((always_inline)) { acc[i / N][i % N] = Vec{}; });
  } else {
    For<MR * N>([&](auto i) __attribute__((always_inline)) {
      constexpr int r = i / N, n = i % N;
      acc[r][n] = *reinterpret_cast<const Vec*>(o + r * D + n * kLanes) * alpha[r];
    });
  }
  const auto step = [&](const float* x, const float* v) __attribute__((always_inline)) {
    Vec value[N];
    For<N>([&](auto n) __attribute__((always_inline)) {
      if (FETCH > 0) __builtin_prefetch(v + (FETCH * N + n) * kLanes, 0, 3);
      value[n] = *reinterpret_cast<const Vec*>(v + n * kLanes);
    });
    For<MR>([&](auto r) __attribute__((always_inline)) {
      const float weight = x[r * kStride];
      For<N>([&](auto n) __attribute__((always_inline)) { acc[r][n] += weight * value[n]; });
    });
  };
  int64_t j = 0;
  for (; j + UNROLL_PV <= keys; j += UNROLL_PV) {
    For<UNROLL_PV>([&](auto u) __attribute__((always_inline)) { step(p + u, values + u * N * kLanes); });
    p += UNROLL_PV;
    values += UNROLL_PV * N * kLanes;
  }
  if constexpr (UNROLL_PV > 1) {
    for (; j < keys; ++j) {
      step(p, values);
      p += 1;
      values += N * kLanes;
    }
  }
  For<MR * N>([&](auto i) __attribute__((always_inline)) { Store(o + (i / N) * D + (i % N) * kLanes, acc[i / N][i % N]); });
}

// What one tile of MR rows keeps while it passes over the keys.
template <int D>
struct alignas(64) State {
  float q[MR * D];
  float o[MR * D];
  Vec sum[MR];
  Vec maximum[kRowVecs];
  int32_t time[MR];  // of each row; rows beyond the last repeat it
  int64_t first_time, last_time;
};

template <int D>
struct alignas(64) Room {
  float s[MR * kStride];
  State<D> state[TILES];
};

template <int D>
void LoadQueries(const Problem& p, int64_t head, int64_t row, State<D>& t) {
  const int64_t b = head / p.KV, kv = head % p.KV;
  const float sign = p.scale < 0 ? -1.0f : 1.0f;
  for (int r = 0; r < MR; ++r) {
    const int64_t at = row + r < p.rows ? row + r : p.rows - 1, time = at / p.group;
    const float* from = p.q + ((b * p.T + time) * p.H + kv * p.group + at % p.group) * D;
    if (Q_LAYOUT == Q_LAYOUT_columns) {
      for (int d = 0; d < D; ++d) t.q[d * MR + r] = from[d] * sign;
    } else {
      for (int d = 0; d < D; d += kLanes) Store(t.q + r * D + d, Load(from + d) * sign);
    }
    t.time[r] = static_cast<int32_t>(time);
    t.sum[r] = Vec{};
  }
  for (int i = 0; i < kRowVecs; ++i) t.maximum[i] = Broadcast(kMasked);
  t.first_time = t.time[0];
  t.last_time = t.time[MR - 1];
}

// One tile against one block of keys.
template <int D>
void Step(const Problem& p, State<D>& t, float* s, const float* keys, const float* values, int64_t start, float c, Ahead& ahead) {
  const int64_t count = (t.last_time + 1 < start + kBlock ? t.last_time + 1 : start + kBlock) - start;
  const int vectors = static_cast<int>((count + kLanes - 1) / kLanes);
  alignas(64) Vec largest[MR];
  For<MR>([&](auto r) __attribute__((always_inline)) { largest[r] = Broadcast(kMasked); });
  int32_t past[MR];
  for (int r = 0; r < MR; ++r) past[r] = t.time[r] - static_cast<int32_t>(start);
  const int panels = vectors / NS, rest = vectors % NS, done = panels * kPanel;
  if (panels > 0) Scores<D, NS>(t.q, keys + start * D, s, largest, panels, past, ahead);
  if (rest > 0) {
    for (int r = 0; r < MR; ++r) past[r] -= done;
    RestOfScores<D, NS - 1>(rest, t.q, keys + (start + done) * D, s + done, largest, past, ahead);
  }

  alignas(64) float maximum[kRowVecs * kLanes], alpha[kRowVecs * kLanes];
  For<kRowVecs * kLanes>([&](auto r) __attribute__((always_inline)) {
    maximum[r] = r < MR ? MaxLane(largest[r < MR ? r : 0]) : kMasked;
  });
  for (int i = 0; i < kRowVecs; ++i) {
    const Vec now = Larger(t.maximum[i], *reinterpret_cast<Vec*>(maximum + i * kLanes));
    Store(alpha + i * kLanes, Exp2((t.maximum[i] - now) * c));
    Store(maximum + i * kLanes, now);
    t.maximum[i] = now;
  }

  for (int r = 0; r < MR; ++r) {
    float* row = s + r * kStride;
    const Vec m = Broadcast(maximum[r]);
    Vec sum = t.sum[r] * alpha[r];
    for (int v = 0; v < vectors; ++v) {
      const Vec x = Exp2((*reinterpret_cast<Vec*>(row + v * kLanes) - m) * c);
      Store(row + v * kLanes, x);
      sum += x;
    }
    t.sum[r] = sum;
  }

  constexpr int kVecs = D / kLanes, kFull = kVecs / NP, kRest = kVecs % NP;
  for (int i = 0; i < kFull; ++i) {
    ahead.Next<D>();
    Values<D, NP>(s, values + i * NP * kLanes * p.T + start * NP * kLanes, t.o + i * NP * kLanes, alpha, start == 0, count);
  }
  if constexpr (kRest > 0) {
    Values<D, kRest>(s, values + kFull * NP * kLanes * p.T + start * kRest * kLanes, t.o + kFull * NP * kLanes, alpha,
                     start == 0, count);
  }
}

template <int D>
void Finish(const Problem& p, int64_t head, int64_t row, const State<D>& t) {
  const int64_t b = head / p.KV, kv = head % p.KV;
  alignas(64) float sum[kRowVecs * kLanes], inverse[kRowVecs * kLanes], lse[kRowVecs * kLanes];
  For<kRowVecs * kLanes>([&](auto r) __attribute__((always_inline)) { sum[r] = r < MR ? SumLanes(t.sum[r < MR ? r : 0]) : 1.0f; });
  for (int i = 0; i < kRowVecs; ++i) {
    const Vec x = Load(sum + i * kLanes);
    Store(inverse + i * kLanes, 1.0f / x);
    Store(lse + i * kLanes, t.maximum[i] * fabsf(p.scale) + Log(x));
  }
  for (int r = 0; r < MR && row + r < p.rows; ++r) {
    const int64_t at = (b * p.T + t.time[r]) * p.H + kv * p.group + (row + r) % p.group;
    for (int d = 0; d < D; d += kLanes) {
      Write(p.o + at * D + d, *reinterpret_cast<const Vec*>(t.o + r * D + d) * inverse[r]);
    }
    if (p.lse) p.lse[at] = lse[r];
  }
}

template <int D>
void Rows(const Problem& p, int64_t head, int64_t row, const float* keys, const float* values, Room<D>& room, Ahead& ahead) {
  int tiles = 0;
  int64_t last = 0;
  for (; tiles < TILES && row + tiles * MR < p.rows; ++tiles) {
    LoadQueries<D>(p, head, row + tiles * MR, room.state[tiles]);
    last = room.state[tiles].last_time;
  }
  const float c = fmaxf(fabsf(p.scale) * 1.44269504f, 1e-20f);
  for (int64_t start = 0; start <= last; start += kBlock) {
    ahead.late = start + kBlock > last;
    for (int i = 0; i < tiles; ++i) {
      if (start <= room.state[i].last_time) Step<D>(p, room.state[i], room.s, keys, values, start, c, ahead);
    }
  }
  for (int i = 0; i < tiles; ++i) Finish<D>(p, head, row + i * MR, room.state[i]);
}

template <int D>
void Run(const Problem& p) {
  const int64_t heads = p.B * p.KV, panels = p.padded_keys / kPanel;
  const int64_t key_floats = p.padded_keys * D, value_floats = p.T * D;
  const int64_t per_head = (key_floats + value_floats) * 4;
  int64_t at_once = kPackedBytes / per_head;
  at_once = at_once > HEADS ? HEADS : at_once;
  at_once = at_once < 1 ? 1 : at_once > heads ? heads : at_once;
  const int64_t threads = omp_get_max_threads();
  const int64_t bytes = at_once * per_head + threads * static_cast<int64_t>(sizeof(Room<D>)) + 64;
  char* memory = static_cast<char*>(malloc(static_cast<size_t>(bytes)));
  if (!memory) return;
  char* aligned = memory + (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64;
  float* keys = reinterpret_cast<float*>(aligned);
  float* values = keys + at_once * key_floats;
  Room<D>* rooms = reinterpret_cast<Room<D>*>(values + at_once * value_floats);

  const int64_t per_item = MR * TILES, items = (p.rows + per_item - 1) / per_item;
  for (int64_t base = 0; base < heads; base += at_once) {
    const int64_t now = heads - base < at_once ? heads - base : at_once, work = now * items;
    int64_t taken = 0;
    // Long rows first, so that the end of the call is divided finely.
    const auto head_of = [=](int64_t i) { return ORDER == ORDER_by_length ? i % now : i / items; };
    const auto row_of = [=](int64_t i) {
      return (items - 1 - (ORDER == ORDER_by_length ? i / now : i % items)) * per_item;
    };
    const auto rows_of = [=](int64_t row) { return p.rows - row < per_item ? p.rows - row : per_item; };
#pragma omp parallel
    {
      Room<D>& room = rooms[omp_get_thread_num()];
#pragma omp for schedule(static)
      for (int64_t i = 0; i < now * panels; ++i) {
        const int64_t h = i % now, panel = i / now, first = panel * kPanel;  // heads are neighbours in memory
        const int64_t end = first + kPanel < p.T ? first + kPanel : p.T;
        PackKeys<D>(p, base + h, panel, keys + h * key_floats + panel * kPanel * D);
        PackValues<D>(p, base + h, first, end, values + h * value_floats);
      }
      const auto take = [&] {
        int64_t i;
#pragma omp atomic capture
        i = taken++;
        return i;
      };
      // One item is taken ahead, so that it can be asked for.
      for (int64_t i = take(); i < work;) {
        const int64_t next = take(), h = head_of(i), row = row_of(i);
        Ahead ahead{&p, 0, 0, 0, base + h, row, rows_of(row), false};
        if (next < work) {
          ahead.head = base + head_of(next);
          ahead.row = row_of(next);
          ahead.rows = rows_of(ahead.row);
        }
        Rows<D>(p, base + h, row, keys + h * key_floats, values + h * value_floats, room, ahead);
        i = next;
      }
      __atomic_thread_fence(__ATOMIC_SEQ_CST);  // streamed stores are not ordered by the barrier that follows
    }
  }
  free(memory);
}

}  // namespace

extern "C" void gqa_attention(const float* q, const float* k, const float* v, float* o, float* lse, int64_t B, int64_t T,
                              int64_t H, int64_t KV, int64_t D, int64_t ldk, float scale) {
  const int64_t group = H / KV;
  const Problem p{q, k, v, o, lse, B, T, H, KV, ldk, scale, group, T * group, (T + kPanel - 1) / kPanel * kPanel};
  if (D == 64) {
    Run<64>(p);
  } else {
    Run<128>(p);
  }
}
