// SPDX-License-Identifier: Apache-2.0
// Flash attention with the queries in the vector lanes.
//
// What it does.  The query heads of one key-value head are interleaved as rows (row = time * group + head); RV vectors
// of such rows are transposed once, and everything after that is vertical: scores are kept transposed (a key is a row of
// the score buffer, a query a lane), so maximum, rescale and sum of the softmax need no reduction across lanes.  One
// key, or one column of V, is a broadcast scalar: JR keys x RV vectors of queries for the scores, DR columns x RV for
// the output, which is transposed back at the end.  K and V can be used where they lie, or copied first.
//
// Floor.  2*B*H*T*(T+1)*D operations at the f32 FMA peak.  Above it: the exponentials (3-4 % at D = 128), the keys
// beyond the diagonal that a tile of RV vectors of rows computes for its earlier rows (1-2 %), copies (1-2 %).
//
// What decides.  RV with JR and DR (accumulators and registers; few rows mean less beyond the diagonal); KEY_BLOCK (the
// transposed probabilities must stay in L1); VALUES (in place, its stride maps every row to the same few cache sets).
//
// assay:template query_lanes
// assay:knob RV = 1 | 2 | 3 | 4 default 2
// assay:knob JR = 4 | 5 | 6 | 7 | 8 | 10 | 12 | 16 | 20 default 6
// assay:knob DR = 4 | 5 | 6 | 7 | 8 | 10 | 12 | 16 | 20 default 6
// assay:when 8 <= RV * JR and RV * JR + RV + 1 <= 32
// assay:when 8 <= RV * DR and RV * DR + RV + 1 <= 32
// assay:knob KEY_BLOCK = 64 | 96 | 128 | 192 | 256 default 128
// assay:knob TILES = 1 | 2 | 3 | 4 | 6 default 2
// assay:knob KEYS = copied | in_place
// assay:knob VALUES = panels | in_place
// assay:knob UNROLL_QK = 1 | 2 | 4
// assay:knob UNROLL_PV = 1 | 2 | 4
// assay:knob ORDER = by_length | by_head
// assay:knob STORE = stream | plain
// assay:flag -march=native
// assay:flag -O3 | -O2
// assay:flag none | -mtune=skylake-avx512 | -mtune=icelake-server
#include <assay/contract.h>

#include <math.h>
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
typedef int32_t IntVec __attribute__((vector_size(4 * kLanes), may_alias));
typedef uint32_t WordVec __attribute__((vector_size(4 * kLanes), may_alias));

constexpr int kRows = RV * kLanes;  // of one tile
constexpr float kMasked = -1e30f;   // finite, below every score
constexpr int64_t kPackedBytes = int64_t{24} << 20;  // stays under malloc's largest mmap threshold

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

INLINE Vec Broadcast(float x) { return x - Vec{}; }
INLINE Vec Load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
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
  int64_t group, rows;
};

// What one tile keeps while it passes over the keys; a lane is a row.
template <int D>
struct alignas(64) State {
  Vec q[D * RV];
  Vec o[D * RV];
  Vec sum[RV], maximum[RV];
  IntVec time[RV];  // rows beyond the last repeat it
  int64_t first_time, last_time;
};

template <int D>
struct alignas(64) Room {
  Vec s[KEY_BLOCK * RV];
  State<D> state[TILES];
};

// Where the keys and values of one head lie, and how far apart their rows are.
struct Source {
  const float *keys, *values;
  int64_t key_stride, value_stride;
};

template <int D>
void LoadQueries(const Problem& p, int64_t head, int64_t row, State<D>& t) {
  const int64_t b = head / p.KV, kv = head % p.KV;
  const float sign = p.scale < 0 ? -1.0f : 1.0f;
  for (int v = 0; v < RV; ++v) {
    const float* from[kLanes];
    alignas(64) int32_t time[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const int64_t r = row + v * kLanes + i, at = r < p.rows ? r : p.rows - 1;
      time[i] = static_cast<int32_t>(at / p.group);
      from[i] = p.q + ((b * p.T + time[i]) * p.H + kv * p.group + at % p.group) * D;
    }
    t.time[v] = *reinterpret_cast<const IntVec*>(time);
    t.sum[v] = Vec{};
    t.maximum[v] = Broadcast(kMasked);
    if (v == 0) t.first_time = time[0];
    t.last_time = time[kLanes - 1];
    for (int d = 0; d < D; d += kLanes) {
      Vec x[kLanes];
      For<kLanes>([&](auto i) __attribute__((always_inline)) { x[i] = Load(from[i] + d); });
      Transpose(x);
      For<kLanes>([&](auto i) __attribute__((always_inline)) { t.q[(d + i) * RV + v] = x[i] * sign; });
    }
  }
}

// N keys against the rows of one tile.
template <int D, int N, bool Copied>
__attribute__((noinline)) void Scores(const Vec* q, const float* keys, int64_t key_stride, Vec* s, Vec* maxima, bool edge,
                                      const IntVec* time, int64_t first_key) {
  const int64_t stride = Copied ? D : key_stride;
  Vec acc[N][RV];
  For<N * RV>([&](auto i) __attribute__((always_inline)) { acc[i / RV][i % RV] = Vec{}; });
  for (int d = 0; d < D; d += UNROLL_QK) {
    For<UNROLL_QK>([&](auto u) __attribute__((always_inline)) {
      Vec query[RV];
      For<RV>([&](auto v) __attribute__((always_inline)) { query[v] = q[u * RV + v]; });
      For<N>([&](auto j) __attribute__((always_inline)) {
        const float x = keys[j * stride + u];
        For<RV>([&](auto v) __attribute__((always_inline)) { acc[j][v] += x * query[v]; });
      });
    });
    q += UNROLL_QK * RV;
    keys += UNROLL_QK;
  }
  if (edge) {
    For<N * RV>([&](auto i) __attribute__((always_inline)) {
      constexpr int j = i / RV, v = i % RV;
      acc[j][v] = time[v] >= static_cast<int32_t>(first_key + j) ? acc[j][v] : Broadcast(kMasked);
    });
  }
  For<RV>([&](auto v) __attribute__((always_inline)) {
    Vec largest = maxima[v];
    For<N>([&](auto j) __attribute__((always_inline)) {
      s[j * RV + v] = acc[j][v];
      largest = Larger(largest, acc[j][v]);
    });
    maxima[v] = largest;
  });
}

// The last keys of a range are fewer than JR, and what lies behind them may not be read.
template <int D, int N, bool Copied>
INLINE void ScoresOf(int64_t n, const Vec* q, const float* keys, int64_t stride, Vec* s, Vec* maxima, bool edge,
                     const IntVec* time, int64_t first_key) {
  if constexpr (N > 1) {
    if (n < N) return ScoresOf<D, N - 1, Copied>(n, q, keys, stride, s, maxima, edge, time, first_key);
  }
  Scores<D, N, Copied>(q, keys, stride, s, maxima, edge, time, first_key);
}

// N columns of O += P V; the rescale of the online softmax costs one product per accumulator.
template <int N, bool Panels>
__attribute__((noinline)) void Values(const Vec* p, const float* values, int64_t value_stride, Vec* o, const Vec* alpha,
                                      bool first, int64_t keys) {
  const int64_t stride = Panels ? N : value_stride;
  Vec acc[N][RV];
  if (first) {
    For<N * RV>([&](auto i) __attribute__((always_inline)) { acc[i / RV][i % RV] = Vec{}; });
  } else {
    For<N * RV>([&](auto i) __attribute__((always_inline)) { acc[i / RV][i % RV] = o[i] * alpha[i % RV]; });
  }
  const auto step = [&](const Vec* x, const float* from) __attribute__((always_inline)) {
    Vec weight[RV];
    For<RV>([&](auto v) __attribute__((always_inline)) { weight[v] = x[v]; });
    For<N>([&](auto d) __attribute__((always_inline)) {
      const float value = from[d];
      For<RV>([&](auto v) __attribute__((always_inline)) { acc[d][v] += value * weight[v]; });
    });
  };
  int64_t j = 0;
  for (; j + UNROLL_PV <= keys; j += UNROLL_PV) {
    For<UNROLL_PV>([&](auto u) __attribute__((always_inline)) { step(p + u * RV, values + u * stride); });
    p += UNROLL_PV * RV;
    values += UNROLL_PV * stride;
  }
  if constexpr (UNROLL_PV > 1) {
    for (; j < keys; ++j) {
      step(p, values);
      p += RV;
      values += stride;
    }
  }
  For<N * RV>([&](auto i) __attribute__((always_inline)) { o[i] = acc[i / RV][i % RV]; });
}

// One tile against one block of keys.
template <int D>
void Step(const Problem& p, State<D>& t, Vec* s, const Source& from, int64_t start, float c) {
  constexpr bool kCopied = KEYS == KEYS_copied, kPanels = VALUES == VALUES_panels;
  const int64_t count = (t.last_time + 1 < start + KEY_BLOCK ? t.last_time + 1 : start + KEY_BLOCK) - start;
  Vec maximum[RV], alpha[RV], sum[RV];
  For<RV>([&](auto v) __attribute__((always_inline)) { maximum[v] = t.maximum[v]; });
  for (int64_t j = 0; j < count; j += JR) {
    const int64_t key = start + j;
    ScoresOf<D, JR, kCopied>(count - j, t.q, from.keys + key * from.key_stride, from.key_stride, s + j * RV, maximum,
                             key + JR > t.first_time + 1, t.time, key);
  }
  For<RV>([&](auto v) __attribute__((always_inline)) {
    alpha[v] = Exp2((t.maximum[v] - maximum[v]) * c);
    t.maximum[v] = maximum[v];
    sum[v] = t.sum[v] * alpha[v];
  });
  for (int64_t j = 0; j < count; ++j) {
    For<RV>([&](auto v) __attribute__((always_inline)) {
      const Vec x = Exp2((s[j * RV + v] - maximum[v]) * c);
      s[j * RV + v] = x;
      sum[v] += x;
    });
  }
  For<RV>([&](auto v) __attribute__((always_inline)) { t.sum[v] = sum[v]; });

  constexpr int kFull = D / DR, kRest = D % DR;
  for (int i = 0; i < kFull; ++i) {
    const float* values = kPanels ? from.values + i * DR * p.T + start * DR : from.values + start * from.value_stride + i * DR;
    Values<DR, kPanels>(s, values, from.value_stride, t.o + i * DR * RV, alpha, start == 0, count);
  }
  if constexpr (kRest > 0) {
    const float* values = kPanels ? from.values + kFull * DR * p.T + start * kRest
                                  : from.values + start * from.value_stride + kFull * DR;
    Values<kRest, kPanels>(s, values, from.value_stride, t.o + kFull * DR * RV, alpha, start == 0, count);
  }
}

template <int D>
void Finish(const Problem& p, int64_t head, int64_t row, const State<D>& t) {
  const int64_t b = head / p.KV, kv = head % p.KV;
  for (int v = 0; v < RV; ++v) {
    const int64_t first = row + v * kLanes, left = p.rows - first;
    if (left <= 0) break;
    alignas(64) float lse[kLanes];
    *reinterpret_cast<Vec*>(lse) = t.maximum[v] * fabsf(p.scale) + Log(t.sum[v]);
    const Vec inverse = 1.0f / t.sum[v];
    int64_t at[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const int64_t r = first + (i < left ? i : 0);
      at[i] = (b * p.T + r / p.group) * p.H + kv * p.group + r % p.group;
      if (p.lse && i < left) p.lse[at[i]] = lse[i];
    }
    for (int d = 0; d < D; d += kLanes) {
      Vec x[kLanes];
      For<kLanes>([&](auto i) __attribute__((always_inline)) { x[i] = t.o[(d + i) * RV + v] * inverse; });
      Transpose(x);
      For<kLanes>([&](auto i) __attribute__((always_inline)) {
        if (i < left) Write(p.o + at[i] * D + d, x[i]);
      });
    }
  }
}

template <int D>
void Rows(const Problem& p, int64_t head, int64_t row, const Source& from, Room<D>& room) {
  int tiles = 0;
  int64_t last = 0;
  for (; tiles < TILES && row + tiles * kRows < p.rows; ++tiles) {
    LoadQueries<D>(p, head, row + tiles * kRows, room.state[tiles]);
    last = room.state[tiles].last_time;
  }
  const float c = fmaxf(fabsf(p.scale) * 1.44269504f, 1e-20f);
  for (int64_t start = 0; start <= last; start += KEY_BLOCK) {
    for (int i = 0; i < tiles; ++i) {
      if (start <= room.state[i].last_time) Step<D>(p, room.state[i], room.s, from, start, c);
    }
  }
  for (int i = 0; i < tiles; ++i) Finish<D>(p, head, row + i * kRows, room.state[i]);
}

template <int D>
void CopyRow(const Problem& p, int64_t head, int64_t j, float* keys, float* values) {
  const int64_t b = head / p.KV, kv = head % p.KV;
  if (KEYS == KEYS_copied) {
    const float* from = p.k + (b * p.T + j) * p.ldk + kv * D;
    for (int d = 0; d < D; d += kLanes) *reinterpret_cast<Vec*>(keys + j * D + d) = Load(from + d);
  }
  if (VALUES == VALUES_panels) {
    const float* from = p.v + ((b * p.T + j) * p.KV + kv) * D;
    For<D>([&](auto d) __attribute__((always_inline)) {
      constexpr int panel = d / DR, width = D - panel * DR < DR ? D - panel * DR : DR;
      values[panel * DR * p.T + j * width + d % DR] = from[d];
    });
  }
}

template <int D>
void Run(const Problem& p) {
  constexpr bool kCopies = KEYS == KEYS_copied || VALUES == VALUES_panels;
  const int64_t heads = p.B * p.KV, per_head = p.T * D * 2, threads = omp_get_max_threads();
  int64_t at_once = kCopies ? kPackedBytes / (per_head * 4) : heads;
  at_once = at_once < 1 ? 1 : at_once > heads ? heads : at_once;
  const int64_t packed = kCopies ? at_once * per_head * 4 : 0;
  char* memory = static_cast<char*>(malloc(static_cast<size_t>(packed + threads * static_cast<int64_t>(sizeof(Room<D>)) + 64)));
  if (!memory) return;
  char* aligned = memory + (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64;
  float* copies = reinterpret_cast<float*>(aligned);
  Room<D>* rooms = reinterpret_cast<Room<D>*>(aligned + packed);

  const int64_t per_item = kRows * TILES, items = (p.rows + per_item - 1) / per_item;
  for (int64_t base = 0; base < heads; base += at_once) {
    const int64_t now = heads - base < at_once ? heads - base : at_once;
#pragma omp parallel
    {
      Room<D>& room = rooms[omp_get_thread_num()];
      if (kCopies) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < now * p.T; ++i) {  // heads are neighbours in memory
          float* to = copies + i % now * per_head;
          CopyRow<D>(p, base + i % now, i / now, to, to + p.T * D);
        }
      }
      // Long rows first, so that the end of the call is divided finely.
#pragma omp for schedule(dynamic, 1) nowait
      for (int64_t i = 0; i < now * items; ++i) {
        const int64_t h = ORDER == ORDER_by_length ? i % now : i / items;
        const int64_t item = items - 1 - (ORDER == ORDER_by_length ? i / now : i % items);
        const int64_t head = base + h, b = head / p.KV, kv = head % p.KV;
        const float* copy = copies + h * per_head;
        const Source from{KEYS == KEYS_copied ? copy : p.k + b * p.T * p.ldk + kv * D,
                          VALUES == VALUES_panels ? copy + p.T * D : p.v + (b * p.T * p.KV + kv) * D,
                          KEYS == KEYS_copied ? D : p.ldk, VALUES == VALUES_panels ? 0 : p.KV * D};
        Rows<D>(p, head, item * per_item, from, room);
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
  const Problem p{q, k, v, o, lse, B, T, H, KV, ldk, scale, group, T * group};
  if (D == 64) {
    Run<64>(p);
  } else {
    Run<128>(p);
  }
}
