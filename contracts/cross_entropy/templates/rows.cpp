// SPDX-License-Identifier: Apache-2.0
// Cross-entropy row by row: maximum and sum, then the gradient over the logits.
//
// The floor is 8*T*V bytes (logits read, gradient written in their place) over the bandwidth, as long as a row stays in
// a cache from its first pass to its last: 600 kB for a large vocabulary. SUM says how maximum and sum are found.
// `passes`: the maximum first, then exponentials, which stay in the row for the last pass. `online`: one pass over
// blocks, each with its own maximum, the sum mended where the maximum rises; the last pass takes the exponentials
// again. So a row is read three times and written twice, or read twice and written once.
// Deciding: SUM, NT (only where the last pass is the only one that writes), PREFETCH, BLOCK.
//
// assay:template rows
// assay:knob SUM = online | passes
// assay:knob BLOCK = 4 | 8 | 16 | 32 default 16 if SUM == 'online'
// assay:knob NT = 0 | 1 default 0 if SUM == 'online'
// assay:knob VEC = 32 | 64 default 64
// assay:knob UNROLL = 1 | 2 | 4 default 4
// assay:knob DEGREE = 5 | 6 default 6
// assay:knob PREFETCH = 0 | 8 | 16 | 32 | 64 | 128 default 32
// assay:knob HINT = 0 | 2 | 3 default 3 if PREFETCH > 0
// assay:knob SCHEDULE = block | cyclic | dynamic
// assay:knob ROWS = 1..64 pow2 default 4 if SCHEDULE != 'block'
// assay:knob FORK = 0 | 4096 | 16384 | 65536 default 16384
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -fno-trapping-math
// assay:flag none | -fno-signed-zeros
#include <assay/contract.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>

namespace {

// A vector wider than the machine's would be split by the compiler, conversions even into scalars. GCC has no portable
// non-temporal store, hence a built-in for each width.
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
typedef int32_t Integers __attribute__((vector_size(kBytes)));
typedef uint32_t Bits __attribute__((vector_size(kBytes)));

#define INLINE static inline __attribute__((always_inline))

INLINE Vector Set(float value) { return Vector{} + value; }
INLINE Vector Load(const float* p) { return *reinterpret_cast<const Aligned*>(p); }
INLINE Vector Greater(Vector a, Vector b) { return a > b ? a : b; }

// Where the logits are too large to be found in a cache later, stores may pass by it and reads are announced.
constexpr int64_t kLargeShape = 1 << 20;  // elements
constexpr bool kPasses = NT && SUM == SUM_online;

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

INLINE Vector LoadPart(const float* p, int64_t n) {  // the lanes beyond n count for nothing: exp(-inf) = 0
  if (n == 0) return Set(-__builtin_inff());
  alignas(kBytes) float lane[kLanes];
  for (int i = 0; i < kLanes; ++i) lane[i] = -__builtin_inff();
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

INLINE float Greatest(Vector v) {
  alignas(kBytes) float lane[kLanes];
  *reinterpret_cast<Aligned*>(lane) = v;
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = lane[i] > lane[i + half] ? lane[i] : lane[i + half];
  return lane[0];
}

// 2^64 * exp(d) for d <= 0, within 1.5 units in the last place. The factor keeps what would be subnormal at full
// precision until the final product with 1/sum rounds it once. n is found by adding 1.5 * 2^23 (whose last bits are
// then n + 64) and read back as an integer, because a compiler that may reassociate would cancel "t + magic - magic".
// The clamp makes exp(-inf) vanish, and also stands between the two differences so that they cannot be reassociated.
INLINE Vector Exp(Vector d) {
  constexpr int32_t kMagicBits = 0x4B400000 + 64;  // 1.5 * 2^23 + 64
  d = Greater(d, Set(-110.0f));
  const Vector t = d * 1.44269504f + 12582976.0f;
  const Vector n = __builtin_convertvector(reinterpret_cast<Integers>(t) - kMagicBits, Vector);
  Vector r = d - n * 0.693359375f;  // exact: this part of ln 2 has nine bits
#if defined(__x86_64__)
  asm("" : "+v"(r));  // or the two parts would be added up again
#endif
  r -= n * -2.12194440e-4f;
#if DEGREE == 5
  Vector p = Set(0.008314793f) * r + 0.0418903008f;
  p = p * r + 0.166670889f;
  p = p * r + 0.499992311f;
#else
  Vector p = Set(0.00138869404f) * r + 0.00837330706f;
  p = p * r + 0.0416675918f;
  p = p * r + 0.166664734f;
  p = p * r + 0.49999994f;
#endif
  p = (p * r + 1.0f) * r + 1.0f;
  return reinterpret_cast<Vector>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(t) << 23));
}

constexpr float kExpUnit = 0x1p-64f;  // what Exp's results are multiples of

// Calls `one(at, u)` for the whole vectors [from, to), `u` naming the accumulator to use.
template <class One>
INLINE void Each(int64_t from, int64_t to, One one) {
  int64_t k = from;
  for (; k + UNROLL <= to; k += UNROLL)
    for (int u = 0; u < UNROLL; ++u) one((k + u) * kLanes, u);
  for (; k < to; ++k) one(k * kLanes, 0);
}

// A row cut at the vector boundaries: a part at the head, whole vectors, a part at the tail.
struct Row {
  float *head, *body, *tail;
  int64_t heads, vectors, tails;  // elements, vectors, elements
};

INLINE Row Cut(float* x, int64_t classes) {
  const int64_t to_boundary = static_cast<int64_t>(-(reinterpret_cast<uintptr_t>(x) / 4) & (kLanes - 1));
  const int64_t head = to_boundary < classes ? to_boundary : classes;
  const int64_t vectors = (classes - head) / kLanes;
  return {x, x + head, x + head + vectors * kLanes, head, vectors, classes - head - vectors * kLanes};
}

struct Total {
  float top, sum;  // the largest logit; sum of 2^64 * exp(logit - top)
};

INLINE float Highest(const float* x, int64_t from, int64_t to, Vector start) {
  Vector max[UNROLL];
  for (int u = 0; u < UNROLL; ++u) max[u] = start;
  Each(
      from, to, [&](int64_t at, int u) __attribute__((always_inline)) { max[u] = Greater(max[u], Load(x + at)); });
  for (int u = 1; u < UNROLL; ++u) max[0] = Greater(max[0], max[u]);
  return Greatest(max[0]);
}

// Leaves the exponentials in the row.
INLINE Total InPasses(const Row& row) {
  const Vector first = LoadPart(row.head, row.heads), last = LoadPart(row.tail, row.tails);
  const float top = Highest(row.body, 0, row.vectors, Greater(first, last));
  const Vector first_exps = Exp(first - top), last_exps = Exp(last - top);
  Vector sum[UNROLL];
  for (int u = 0; u < UNROLL; ++u) sum[u] = Set(0);
  if (row.heads > 0) sum[0] += first_exps;
  if (row.tails > 0) sum[0] += last_exps;
  StorePart(row.head, row.heads, first_exps);
  StorePart(row.tail, row.tails, last_exps);
  Each(
      0, row.vectors, [&](int64_t at, int u) __attribute__((always_inline)) {
        const Vector e = Exp(Load(row.body + at) - top);
        *reinterpret_cast<Aligned*>(row.body + at) = e;
        sum[u] += e;
      });
  for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
  return {top, Sum(sum[0])};
}

// The running sum is rescaled only when the maximum rises, which after the first blocks is rare, so that the branch is
// predicted.
template <bool kLarge>
INLINE Total Online(const Row& row) {
  const Vector first = LoadPart(row.head, row.heads), last = LoadPart(row.tail, row.tails);
  float top = Greatest(Greater(first, last));
  Vector sum[UNROLL];
  for (int u = 0; u < UNROLL; ++u) sum[u] = Set(0);
  if (row.heads > 0) sum[0] += Exp(first - top);
  if (row.tails > 0) sum[0] += Exp(last - top);
  for (int64_t from = 0; from < row.vectors; from += BLOCK) {
    const int64_t to = from + BLOCK < row.vectors ? from + BLOCK : row.vectors;
    const float highest = Highest(row.body, from, to, Load(row.body + from * kLanes));
    if (highest > top) {
      const Vector mend = Exp(Set(top) - highest) * kExpUnit;
      for (int u = 0; u < UNROLL; ++u) sum[u] *= mend;
      top = highest;
    }
    Each(
        from, to, [&](int64_t at, int u) __attribute__((always_inline)) {
          if constexpr (kLarge && PREFETCH > 0) __builtin_prefetch(row.body + at + PREFETCH * 16, 1, HINT);
          sum[u] += Exp(Load(row.body + at) - top);
        });
  }
  for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
  return {top, Sum(sum[0])};
}

struct Call {
  float* logits;
  const int32_t* targets;
  float* loss;
  int64_t classes;
  float scale;
  int32_t ignore_index;
};

template <bool kLarge>
static void Rows(const Call& call, int64_t from, int64_t to) {
  for (int64_t t = from; t < to; ++t) {
    float* x = call.logits + t * call.classes;
    const int32_t target = call.targets[t];
    const Row row = Cut(x, call.classes);
    if (target < 0 || target == call.ignore_index) {
      StorePart(row.head, row.heads, Set(0));
      Each(
          0, row.vectors, [&](int64_t at, int) __attribute__((always_inline)) { Store<kLarge>(row.body + at, Set(0)); });
      StorePart(row.tail, row.tails, Set(0));
      call.loss[t] = 0;
      continue;
    }
    const float wanted = x[target];
    const Total total = SUM == SUM_passes ? InPasses(row) : Online<kLarge>(row);
    call.loss[t] = logf(total.sum * kExpUnit) + (total.top - wanted);
    const float factor = call.scale / total.sum;
    // The target's own element is done apart: of probabilities near one only the distance to one counts.
    const float wanted_exp = Exp(Set(wanted - total.top))[0];
    const auto gradient = [&](Vector v) __attribute__((always_inline)) {
      return (SUM == SUM_passes ? v : Exp(v - total.top)) * factor;
    };
    StorePart(row.head, row.heads, gradient(LoadPart(row.head, row.heads)));
    StorePart(row.tail, row.tails, gradient(LoadPart(row.tail, row.tails)));
    Each(
        0, row.vectors, [&](int64_t at, int) __attribute__((always_inline)) { Store<kLarge>(row.body + at, gradient(Load(row.body + at))); });
    x[target] = (wanted_exp / total.sum - 1.0f) * call.scale;
  }
  Fence<kLarge>();
}

}  // namespace

extern "C" void cross_entropy(float* logits, const int32_t* targets, float* loss, int64_t T, int64_t V, float scale,
                              int32_t ignore_index) {
#if SCHEDULE == SCHEDULE_block
  const int64_t threads = omp_get_max_threads(), chunk = (T + threads - 1) / threads;
#else
  const int64_t chunk = ROWS;
#endif
  const int64_t chunks = T > 0 ? (T + chunk - 1) / chunk : 0;
  const Call call = {logits, targets, loss, V, scale, ignore_index};
  const bool large = T * V >= kLargeShape;
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp parallel for schedule(dynamic, 1) if (T * V >= FORK)
#else
#pragma omp parallel for schedule(static, 1) if (T * V >= FORK)
#endif
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t from = c * chunk, to = from + chunk < T ? from + chunk : T;
    if (large) {
      Rows<true>(call, from, to);
    } else {
      Rows<false>(call, from, to);
    }
  }
}
