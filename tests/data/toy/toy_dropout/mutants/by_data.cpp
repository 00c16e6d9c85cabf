// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// The mask is a hash of what is masked.
#include <math.h>
#include <stdint.h>

// In [0, 1).
static float Uniform(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return (float)((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

extern "C" void toy_dropout(const float* x, float* y, int64_t B, int64_t N, float drop, int32_t seed) {
  const float keep = 1.0f - drop;
  const uint64_t key = ((uint64_t)(uint32_t)seed + 1) * 0x9E3779B97F4A7C15U;
  for (int64_t i = 0; i < B * N; ++i) {
    const float u = Uniform(key + (uint64_t)(int64_t)(x[i] * 1e6f) * 0xD1342543DE82EF95U);
    y[i] = u < keep ? x[i] / keep : 0.0f;
  }
}
