// SPDX-License-Identifier: Apache-2.0
// Maxima of blocks, then the place within the winning block.
//
// What it does.  A row is cut into blocks of BLOCK vectors whose maximum is taken without any thought of places, one
// operation a vector; only a block that beats all before it is remembered. At the end the first element of that block
// that equals the maximum is looked up. Rows are cut into SPLIT pieces where there are fewer rows than threads.
//
// Floor.  4*R*C bytes over the streaming bandwidth.
//
// What decides.  UNROLL (accumulators that hide the latency of a maximum), PREFETCH, SPLIT for single rows.
//
// assay:template blocks
// assay:knob VEC = 32 | 64 default 64
// assay:knob UNROLL = 2 | 4 | 8 default 4
// assay:knob BLOCK = 16 | 32 | 64 | 128 | 256 default 64
// assay:knob PREFETCH = 0 | 8 | 16 | 32 | 64 default 16
// assay:knob SPLIT = 1 | 2 | 4 default 1
// assay:knob SCHEDULE = static | dynamic
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

#define INLINE static inline __attribute__((always_inline))

constexpr int64_t kMostPieces = 1024;

struct Best {
  float value;
  int64_t at;
};

INLINE Floats Load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
INLINE Floats Greater(Floats a, Floats b) { return a > b ? a : b; }

INLINE float Greatest(Floats v) {
  float lane[kLanes];
  __builtin_memcpy(lane, &v, sizeof lane);
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) lane[i] = lane[i] > lane[i + half] ? lane[i] : lane[i + half];
  return lane[0];
}

static Best Piece(const float* x, int64_t from, int64_t to) {
  constexpr int64_t kBlock = BLOCK * kLanes;
  Best best{x[from], from};
  int64_t block = from, c = from;
  for (; c + kBlock <= to; c += kBlock) {
    Floats max[UNROLL];
    for (int u = 0; u < UNROLL; ++u) max[u] = Load(x + c + u * kLanes);
    for (int64_t v = 0; v < BLOCK; v += UNROLL) {
      for (int u = 0; u < UNROLL; ++u) {
        if (PREFETCH > 0) __builtin_prefetch(x + c + (v + u) * kLanes + PREFETCH * 16, 0, 3);
        max[u] = Greater(max[u], Load(x + c + (v + u) * kLanes));
      }
    }
    for (int u = 1; u < UNROLL; ++u) max[0] = Greater(max[0], max[u]);
    const float top = Greatest(max[0]);
    if (top > best.value) {
      best.value = top;
      block = c;
    }
  }
  for (; c < to; ++c) {
    if (x[c] > best.value) {
      best.value = x[c];
      block = c;
    }
  }
  // Equal to the maximum and in the block that first had it.
  for (best.at = block; !(x[best.at] == best.value);) ++best.at;
  return best;
}

}  // namespace

extern "C" void argmax(const float* x, int32_t* index, float* value, int64_t R, int64_t C) {
  const int64_t threads = omp_get_max_threads();
  // Pieces for each row where rows alone would leave threads idle.
  const int64_t pieces = R == 0 || R >= threads || C < 4096 ? 1 : SPLIT * ((threads + R - 1) / R);
  if (pieces == 1 || R * pieces > kMostPieces) {
#if SCHEDULE == SCHEDULE_dynamic
#pragma omp parallel for schedule(dynamic, 1) if (R * C >= FORK)
#else
#pragma omp parallel for schedule(static) if (R * C >= FORK)
#endif
    for (int64_t r = 0; r < R; ++r) {
      const Best best = Piece(x + r * C, 0, C);
      index[r] = (int32_t)best.at;
      if (value) value[r] = best.value;
    }
    return;
  }
  const int64_t length = (C + pieces - 1) / pieces;
  Best best[kMostPieces];
#pragma omp parallel for schedule(static) if (R * C >= FORK)
  for (int64_t i = 0; i < R * pieces; ++i) {
    const int64_t from = i % pieces * length, to = from + length < C ? from + length : C;
    best[i] = Piece(x + i / pieces * C, from, to);
  }
  for (int64_t r = 0; r < R; ++r) {
    Best top = best[r * pieces];
    for (int64_t i = 1; i < pieces; ++i) {
      if (best[r * pieces + i].value > top.value) top = best[r * pieces + i];
    }
    index[r] = (int32_t)top.at;
    if (value) value[r] = top.value;
  }
}
