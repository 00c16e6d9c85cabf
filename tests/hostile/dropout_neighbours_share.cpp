// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: dropout
// One draw for two neighbours: half the generator, and pairs fall out together.
#include <assay/contract.h>

#include <stdint.h>

static uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}
static uint64_t Draw(uint64_t seed, uint64_t i) { return Mix(Mix(seed) + (i + 1) * 0x9E3779B97F4A7C15U); }

extern "C" void dropout(const float* x, float* y, int64_t R, int64_t C, float p, int64_t seed) {
  const float scale = 1.0f / (1.0f - p);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < R * C; ++i) {
    const double u = (double)(Draw((uint64_t)seed, (uint64_t)i / 2) >> 11) * 0x1p-53;
    y[i] = u < (double)p ? 0.0f : x[i] * scale;
  }
}
