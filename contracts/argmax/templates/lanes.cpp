// SPDX-License-Identifier: Apache-2.0
// Each lane carries its maximum and where it was.
//
// What it does.  Two selections and a comparison a vector, no second look at any element. Lanes hold the number of the
// vector, not the column, so one counter serves all of them; STREAMS independent ones hide the latency. Of equal lanes the
// lowest column wins at the end. Fewer rows than threads: each thread takes a part of every row.
//
// Floor.  4*R*C bytes over the streaming bandwidth; three vector operations for sixteen elements leave room under it.
//
// What decides.  STREAMS, PREFETCH.
//
// assay:template lanes
// assay:knob VEC = 32 | 64 default 64
// assay:knob STREAMS = 1 | 2 | 3 | 4 | 6 | 8 default 4
// assay:knob PREFETCH = 0 | 8 | 16 | 32 | 64 default 16
// assay:knob HINT = 0 | 2 | 3 default 3 if PREFETCH > 0
// assay:knob FORK = 0 | 16384 | 65536 default 16384
// assay:flag -O3 | -O2
// assay:flag -march=native
// assay:flag none | -fno-trapping-math
#include <assay/contract.h>

#include <omp.h>
#include <stdint.h>

namespace {

#if VEC >= 64 && defined(__AVX512F__)
constexpr int kBytes = 64;
#else
constexpr int kBytes = 32;
#endif
constexpr int64_t kLanes = kBytes / 4;

typedef float Floats __attribute__((vector_size(kBytes)));
typedef float Loose __attribute__((vector_size(kBytes), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(kBytes)));

#define INLINE static inline __attribute__((always_inline))

struct Best {
  float value;
  int64_t at;
};

INLINE Best Better(Best a, Best b) { return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a; }

static Best Piece(const float* x, int64_t from, int64_t to) {
  constexpr int64_t kStep = STREAMS * kLanes;
  Best best{x[from], from};
  int64_t c = from;
  if (from + kStep <= to) {
    Floats value[STREAMS];
    Ints step[STREAMS];
    for (int s = 0; s < STREAMS; ++s) {
      value[s] = *reinterpret_cast<const Loose*>(x + c + s * kLanes);
      step[s] = Ints{};
    }
    int32_t n = 1;
    for (c += kStep; c + kStep <= to; c += kStep, ++n) {
      for (int s = 0; s < STREAMS; ++s) {
        if (PREFETCH > 0) __builtin_prefetch(x + c + s * kLanes + PREFETCH * 16, 0, HINT);
        const Floats v = *reinterpret_cast<const Loose*>(x + c + s * kLanes);
        const Ints wins = v > value[s];
        value[s] = wins ? v : value[s];
        step[s] = wins ? Ints{} + n : step[s];
      }
    }
    for (int s = 0; s < STREAMS; ++s) {
      for (int64_t l = 0; l < kLanes; ++l) best = Better(best, {value[s][l], from + step[s][l] * kStep + s * kLanes + l});
    }
  }
  for (; c < to; ++c) best = Better(best, {x[c], c});
  return best;
}

}  // namespace

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
  const int64_t threads = omp_get_max_threads();
  if (R >= threads || C < 4096) {
#pragma omp parallel for schedule(static) if (R * C >= FORK)
    for (int64_t r = 0; r < R; ++r) {
      const Best best = Piece(x + r * C, 0, C);
      index[r] = (int32_t)best.at;
      if (value) value[r] = best.value;
    }
    return;
  }
  for (int64_t r = 0; r < R; ++r) {
    Best best{x[r * C], 0};
#pragma omp parallel if (C >= FORK)
    {
      const int64_t team = omp_get_num_threads(), length = (C + team - 1) / team;
      const int64_t from = omp_get_thread_num() * length, to = from + length < C ? from + length : C;
      if (from < to) {
        const Best mine = Piece(x + r * C, from, to);
#pragma omp critical
        best = Better(best, mine);
      }
    }
    index[r] = (int32_t)best.at;
    if (value) value[r] = best.value;
  }
}
