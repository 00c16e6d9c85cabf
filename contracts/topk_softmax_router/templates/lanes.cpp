// SPDX-License-Identifier: Apache-2.0
// Sixteen tokens at once, one a lane: experts are offered one after the other to a sorted list of the K best.
//
// What it does.  Blocks of sixteen tokens by sixteen experts are transposed, so that a vector holds the scores of one
// expert. It goes down the list, takes the first place whose score is smaller, and the others move down by one. Strictly
// smaller, so of equal scores the first one offered, the lowest expert, keeps its place. Exponentials and sums then need no reduction either.
//
// Floor.  4*T*E operations; a list of K = 8 costs five for each expert and place, 320 vector operations a token of 128
// experts whatever the scores are. START skips the lower places until they are filled.
//
// What decides.  FIXED (a list in registers for K = 8); CHUNK.
//
// assay:template lanes
// assay:knob FIXED = 0 | 4 | 6 | 8 default 8
// assay:knob CHUNK = 16..128 pow2 default 32
// assay:knob SCHEDULE = cyclic | dynamic
// assay:knob START = 0 | 1 default 1
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
typedef int32_t LooseInts __attribute__((vector_size(64), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

constexpr int kLanes = 16;
constexpr int64_t kMostExperts = 512, kMostChosen = 16;  // the contract's limits

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

template <int N, class F>
INLINE void For(F&& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

template <bool High, int... I>
INLINE Floats Zip(Floats a, Floats b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, ((High ? kLanes / 2 : 0) + I / 2 + (I % 2) * kLanes)...);
}

// Each round of zips rotates the bits of (row, column) by one; four rounds swap the two.
INLINE void Transpose(Floats (&x)[kLanes]) {
  const auto lanes = std::make_integer_sequence<int, kLanes>{};
  For<4>([&](auto) __attribute__((always_inline)) {
    Floats y[kLanes];
    For<kLanes / 2>([&](auto i) __attribute__((always_inline)) {
      y[2 * i] = Zip<false>(x[i], x[i + kLanes / 2], lanes);
      y[2 * i + 1] = Zip<true>(x[i], x[i + kLanes / 2], lanes);
    });
    For<kLanes>([&](auto i) __attribute__((always_inline)) { x[i] = y[i]; });
  });
}

template <int F>
struct List {
  Floats score[F > 0 ? F : kMostChosen];
  Ints expert[F > 0 ? F : kMostChosen];

  // Every place from the first that it beats shifts down: what is displaced must not be compared again, or equal ones
  // would change order.
  __attribute__((always_inline)) void Offer(Floats x, int32_t e, int64_t places) {
    const Floats offered = x;
    Ints id = Ints{} + e;
    for (int64_t k = 0; k < places; ++k) {
      const Ints wins = offered > score[k];
      const Floats s = score[k];
      const Ints i = expert[k];
      score[k] = wins ? x : s;
      expert[k] = wins ? id : i;
      x = wins ? s : x;
      id = wins ? i : id;
    }
  }
};

// Tokens [0, tokens) of one block; the others are not there.
template <int F>
static void Block(const float* logits, const float* bias, int64_t tokens, int64_t E, int64_t K, int32_t* index,
                  float* weight, int32_t* counts) {
  const int64_t chosen = F > 0 ? F : K;
  List<F> list;
  for (int64_t k = 0; k < chosen; ++k) {
    list.score[k] = Floats{} - __builtin_inff();
    list.expert[k] = Ints{};
  }
  for (int64_t first = 0; first < E; first += kLanes) {
    const int64_t experts = E - first < kLanes ? E - first : kLanes;
    Floats x[kLanes];
    if (experts == kLanes) {
      Floats shift = {};
      if (bias) shift = *reinterpret_cast<const LooseFloats*>(bias + first);
      For<kLanes>([&](auto t) __attribute__((always_inline)) {
        x[t] = t < tokens ? *reinterpret_cast<const LooseFloats*>(logits + t * E + first) + shift : Floats{};
      });
    } else {
      For<kLanes>([&](auto t) __attribute__((always_inline)) {
        x[t] = Floats{};
        for (int64_t e = 0; e < (t < tokens ? experts : 0); ++e) {
          x[t][e] = logits[t * E + first + e] + (bias ? bias[first + e] : 0.0f);
        }
      });
    }
    Transpose(x);
    if (START && F == 0 && first == 0) {
      for (int64_t e = 0; e < experts; ++e) list.Offer(x[e], (int32_t)e, e + 1 < chosen ? e + 1 : chosen);
    } else if (experts == kLanes) {
      For<kLanes>([&](auto e) __attribute__((always_inline)) { list.Offer(x[e], (int32_t)(first + e), chosen); });
    } else {
      for (int64_t e = 0; e < experts; ++e) list.Offer(x[e], (int32_t)(first + e), chosen);
    }
  }
  Floats sum = {};
  const Floats top = list.score[0];
  for (int64_t k = 0; k < chosen; ++k) {
    list.score[k] = Exp(list.score[k] - top);
    sum += list.score[k];
  }
  const Floats inverse = 1.0f / sum;
  for (int64_t k = 0; k < chosen; ++k) {
    const Floats w = DIVIDE == DIVIDE_each ? list.score[k] / sum : list.score[k] * inverse;
    for (int64_t t = 0; t < tokens; ++t) {
      weight[t * K + k] = w[t];
      index[t * K + k] = list.expert[k][t];
      ++counts[list.expert[k][t]];
    }
  }
}

}  // namespace

extern "C" void topk_softmax_router(const float* logits, const float* bias, int32_t* index, float* weight,
                                    int32_t* count, int64_t T, int64_t E, int64_t K) {
  for (int64_t e = 0; e < E; ++e) count[e] = 0;
  const int64_t chunks = (T + CHUNK - 1) / CHUNK;
#pragma omp parallel if (T * E >= FORK)
  {
    int32_t counts[kMostExperts] = {};
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp for schedule(dynamic, 1) nowait
#else
#pragma omp for schedule(static, 1) nowait
#endif
    for (int64_t c = 0; c < chunks; ++c) {
      const int64_t to = (c + 1) * CHUNK < T ? (c + 1) * CHUNK : T;
      for (int64_t t = c * CHUNK; t < to; t += kLanes) {
        const int64_t tokens = to - t < kLanes ? to - t : kLanes;
        if (FIXED > 0 && K == FIXED) {
          Block<FIXED>(logits + t * E, bias, tokens, E, K, index + t * K, weight + t * K, counts);
        } else {
          Block<0>(logits + t * E, bias, tokens, E, K, index + t * K, weight + t * K, counts);
        }
      }
    }
#pragma omp critical
    for (int64_t e = 0; e < E; ++e) count[e] += counts[e];
  }
}
