// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Philox 4x32 with ten rounds (Salmon et al. 2011), four elements a block.
#include <assay/contract.h>

#include <stdint.h>

static void Philox(uint32_t (&v)[4], uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53U * (uint64_t)v[0], b = 0xCD9E8D57U * (uint64_t)v[2];
    const uint32_t next[4] = {(uint32_t)(b >> 32) ^ v[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ v[3] ^ k1, (uint32_t)a};
    for (int i = 0; i < 4; ++i) v[i] = next[i];
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
}

extern "C" void dropout(const float* x, float* y, int64_t R, int64_t C, float p, int64_t seed) {
  const float scale = 1.0f / (1.0f - p);
  const int64_t n = R * C;
#pragma omp parallel for schedule(static)
  for (int64_t first = 0; first < n; first += 4) {
    uint32_t v[4] = {(uint32_t)first, (uint32_t)((uint64_t)first >> 32), 0, 0};
    Philox(v, (uint32_t)seed, (uint32_t)((uint64_t)seed >> 32));
    for (int64_t i = first; i < (first + 4 < n ? first + 4 : n); ++i) {
      y[i] = (float)(v[i - first] >> 8) * 0x1p-24f < p ? 0.0f : scale * x[i];
    }
  }
}
