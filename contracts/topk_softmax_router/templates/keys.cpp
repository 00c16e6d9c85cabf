// SPDX-License-Identifier: Apache-2.0
// One token after the other: score and expert in one 64-bit key, then K times the largest key below the last one.
//
// What it does.  The order of floats is that of their bits as integers once negative ones are turned round, and the low
// half of a key counts down with the expert, so that of equal scores the lowest expert wins and no two keys are equal.
// "Below the last one" then needs neither marks nor stores. TOKENS of them share a pass to hide the time a reduction takes.
//
// Floor.  4*T*E operations; a pass is two of them for eight experts, so K = 8 of 128 cost some 300 vector operations a
// token.
//
// What decides.  TOKENS; SCHEDULE and FORK for few tokens.
//
// assay:template keys
// assay:knob TOKENS = 1 | 2 | 3 | 4 default 2
// assay:knob SCHEDULE = block | cyclic | dynamic
// assay:knob CHUNK = 8..128 pow2 default 32 if SCHEDULE != 'block'
// assay:knob DEGREE = 5 | 6 default 6
// assay:knob DIVIDE = inverse | each
// assay:knob FORK = 0 | 4096 | 16384 | 65536 default 16384
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -fno-trapping-math
// assay:flag none | -mprefer-vector-width=512
#include <assay/contract.h>

#include <omp.h>
#include <stdint.h>
#include <string.h>

#include <utility>

namespace {

typedef float Floats __attribute__((vector_size(64)));
typedef float LooseFloats __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef int32_t HalfInts __attribute__((vector_size(32)));
typedef int64_t Keys __attribute__((vector_size(64)));

#define INLINE static inline __attribute__((always_inline))

constexpr int kLanes = 16;
constexpr int64_t kMostExperts = 512, kMostChosen = 16;  // the contract's limits
constexpr int64_t kNone = INT64_MIN;

// exp(d) for d <= 0, within two units in the last place; what would be subnormal becomes zero or subnormal by the last
// product alone. n is found by adding 1.5 * 2^23 and read back as an integer, because a compiler that may reassociate
// would cancel "t + magic - magic".
INLINE Floats Exp(Floats d) {
  d = d > -104.0f ? d : Floats{} - 104.0f;
  const Floats t = d * 1.44269504f + 12582912.0f;
  const Ints n = (Ints)t - 0x4B400000;
  const Floats whole = __builtin_convertvector(n, Floats);
  Floats r = d - whole * 0.693359375f;  // exact: this part of ln 2 has nine bits
#if defined(__x86_64__)
  asm("" : "+v"(r));  // or the two parts would be added up again
#endif
  r -= whole * -2.12194440e-4f;
#if DEGREE == 5
  Floats p = (Floats{} + 0.008314793f) * r + 0.0418903008f;
  p = p * r + 0.166670889f;
  p = p * r + 0.499992311f;
#else
  Floats p = (Floats{} + 0.00138869404f) * r + 0.00837330706f;
  p = p * r + 0.0416675918f;
  p = p * r + 0.166664734f;
  p = p * r + 0.49999994f;
#endif
  p = (p * r + 1.0f) * r + 1.0f;
  // In two factors, each of them normal.
  const Ints half = n >> 1;
  return p * (Floats)((half + 127) << 23) * (Floats)((n - half + 127) << 23);
}

INLINE Keys Greater(Keys a, Keys b) { return a > b ? a : b; }

INLINE int64_t Greatest(Keys v) {
  v = Greater(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
  v = Greater(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
  v = Greater(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6));
  return v[0];
}

// Integers in the order of the floats; both zeros are the same one.
INLINE Ints Ordered(Floats x) {
  Ints bits = (Ints)x;
  bits = bits == INT32_MIN ? Ints{} : bits;
  return bits ^ ((bits >> 31) & INT32_MAX);
}

INLINE float ScoreOf(int64_t key) {
  const int32_t ordered = (int32_t)(key >> 32), bits = ordered ^ ((ordered >> 31) & INT32_MAX);
  float score;
  memcpy(&score, &bits, 4);
  return score;
}

INLINE int32_t ExpertOf(int64_t key) { return (int32_t)(kMostExperts - 1 - (key & (kMostExperts - 1))); }

INLINE void Store(Keys* to, Floats score, int64_t first) {
  const Ints ordered = Ordered(score);
  const Keys lanes = {0, 1, 2, 3, 4, 5, 6, 7};
  const HalfInts low = __builtin_shufflevector(ordered, ordered, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfInts high = __builtin_shufflevector(ordered, ordered, 8, 9, 10, 11, 12, 13, 14, 15);
  to[0] = (__builtin_convertvector(low, Keys) << 32) | (kMostExperts - 1 - first - lanes);
  to[1] = (__builtin_convertvector(high, Keys) << 32) | (kMostExperts - 9 - first - lanes);
}

// Keys of one token; returns how many vectors of eight there are.
INLINE int64_t Make(const float* logits, const float* bias, int64_t E, Keys* keys) {
  int64_t e = 0;
  for (; e + kLanes <= E; e += kLanes) {
    Floats score = *reinterpret_cast<const LooseFloats*>(logits + e);
    if (bias) score += *reinterpret_cast<const LooseFloats*>(bias + e);
    Store(keys + e / 8, score, e);
  }
  if (e == E) return e / 8;
  Floats score = {};
  for (int64_t i = 0; i < E - e; ++i) score[i] = logits[e + i] + (bias ? bias[e + i] : 0.0f);
  Store(keys + e / 8, score, e);
  for (int64_t i = E; i < e + kLanes; ++i) keys[i / 8][i % 8] = kNone;
  return e / 8 + 2;
}

INLINE void Finish(const int64_t* chosen, int64_t K, int32_t* index, float* weight, int32_t* counts) {
  alignas(64) float score[kLanes];
  for (int64_t k = 0; k < kLanes; ++k) {
    score[k] = k < K ? ScoreOf(chosen[k]) : -__builtin_inff();
    if (k >= K) continue;
    index[k] = ExpertOf(chosen[k]);
    ++counts[index[k]];
  }
  Floats exps;
  memcpy(&exps, score, sizeof exps);
  exps = Exp(exps - score[0]);
  memcpy(score, &exps, sizeof exps);
  float sum = 0;
  for (int64_t k = 0; k < K; ++k) sum += score[k];
  const float inverse = 1.0f / sum;
  for (int64_t k = 0; k < K; ++k) weight[k] = DIVIDE == DIVIDE_each ? score[k] / sum : score[k] * inverse;
}

template <int N>
INLINE void Some(const float* logits, const float* bias, int64_t E, int64_t K, int32_t* index, float* weight,
                 int32_t* counts) {
  Keys keys[N][kMostExperts / 8];
  int64_t chosen[N][kMostChosen], vectors = 0;
  for (int t = 0; t < N; ++t) vectors = Make(logits + t * E, bias, E, keys[t]);
  Keys last[N];
  for (int t = 0; t < N; ++t) last[t] = Keys{} + INT64_MAX;
  for (int64_t k = 0; k < K; ++k) {
    Keys best[N];
    for (int t = 0; t < N; ++t) best[t] = Keys{} + kNone;
    for (int64_t v = 0; v < vectors; ++v) {
      for (int t = 0; t < N; ++t) {
        const Keys x = keys[t][v];
        best[t] = Greater(best[t], x < last[t] ? x : Keys{} + kNone);
      }
    }
    for (int t = 0; t < N; ++t) {
      chosen[t][k] = Greatest(best[t]);
      last[t] = Keys{} + chosen[t][k];
    }
  }
  for (int t = 0; t < N; ++t) Finish(chosen[t], K, index + t * K, weight + t * K, counts);
}

}  // namespace

extern "C" void topk_softmax_router(const float* logits, const float* bias, int32_t* index, float* weight,
                                    int32_t* count, int64_t T, int64_t E, int64_t K) {
  for (int64_t e = 0; e < E; ++e) count[e] = 0;
#if SCHEDULE == SCHEDULE_block
  const int64_t threads = omp_get_max_threads(), chunk = (T + threads - 1) / threads;
#else
  const int64_t chunk = CHUNK;
#endif
  const int64_t chunks = (T + chunk - 1) / chunk;
#pragma omp parallel if (T * E >= FORK)
  {
    int32_t counts[kMostExperts] = {};
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp for schedule(dynamic, 1) nowait
#else
#pragma omp for schedule(static, 1) nowait
#endif
    for (int64_t c = 0; c < chunks; ++c) {
      int64_t t = c * chunk;
      const int64_t to = t + chunk < T ? t + chunk : T;
      for (; t + TOKENS <= to; t += TOKENS) Some<TOKENS>(logits + t * E, bias, E, K, index + t * K, weight + t * K, counts);
      for (; t < to; ++t) Some<1>(logits + t * E, bias, E, K, index + t * K, weight + t * K, counts);
    }
#pragma omp critical
    for (int64_t e = 0; e < E; ++e) count[e] += counts[e];
  }
}
