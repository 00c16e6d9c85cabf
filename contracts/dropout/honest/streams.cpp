// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// A generator with state: PCG with 64 bits of it, one stream for each row (O'Neill 2014).
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

// Steele, Lea and Flood (2014): a counter in steps of the golden ratio, mixed by the finaliser of MurmurHash3.
static uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}
static uint64_t Draw(uint64_t seed, uint64_t i) { return Mix(Mix(seed) + (i + 1) * 0x9E3779B97F4A7C15U); }

extern "C" void dropout(const float* x, float* y, int64_t R, int64_t C, float p, int64_t seed) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) {
    uint64_t state = Mix((uint64_t)seed + 0x632BE59BD9B4E019U * (uint64_t)(r + 1));
    const uint64_t step = Mix(state ^ (uint64_t)seed) | 1;
    for (int64_t c = 0; c < C; ++c) {
      state = state * 6364136223846793005U + step;
      const uint32_t mixed = (uint32_t)(((state >> 18) ^ state) >> 27), turn = (uint32_t)(state >> 59);
      const uint32_t number = (mixed >> turn) | (mixed << (-turn & 31));
      y[r * C + c] = (float)(number >> 8) * 0x1p-24f < p ? 0.0f : x[r * C + c] / (1.0f - p);
    }
  }
}
