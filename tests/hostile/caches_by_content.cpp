// assay:expect no_gain
// SPDX-License-Identifier: Apache-2.0
// assay:note class: cache, contract: softmax_rows, twin: honest_plain.cpp
// Keeps its last answers with a hash of the whole input, and copies one out when the same content comes again. Right, and
// worthless where no content is ever presented twice to one process.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void Row(const float* in, float* out, int64_t C) {
  float maximum = in[0];
  for (int64_t c = 1; c < C; ++c) maximum = in[c] > maximum ? in[c] : maximum;
  float sum = 0;
  for (int64_t c = 0; c < C; ++c) sum += out[c] = expf(in[c] - maximum);
  for (int64_t c = 0; c < C; ++c) out[c] /= sum;
}

static uint64_t Hash(const float* x, int64_t count) {
  uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int64_t i = 0; i + 8 <= count; i += 8) {
    for (int j = 0; j < 8; ++j) {
      uint32_t bits;
      memcpy(&bits, x + i + j, 4);
      lanes[j] = (lanes[j] ^ bits) * 0x9E3779B97F4A7C15ULL;
      lanes[j] ^= lanes[j] >> 29;
    }
  }
  uint64_t hash = static_cast<uint64_t>(count);
  for (int j = 0; j < 8; ++j) hash = (hash ^ lanes[j]) * 0x9E3779B97F4A7C15ULL;
  for (int64_t i = count & ~int64_t{7}; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    hash = (hash ^ bits) * 0x9E3779B97F4A7C15ULL;
  }
  return hash;
}

struct Kept {
  uint64_t hash = 0;
  int64_t R = 0, C = 0;
  float* answer = nullptr;
};

extern "C" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {
  static Kept kept[16];
  static int next = 0;
  if (R == 0) return;
  const uint64_t hash = Hash(x, R * C);
  for (const Kept& k : kept) {
    if (k.answer == nullptr || k.hash != hash || k.R != R || k.C != C) continue;
    memcpy(y, k.answer, sizeof(float) * R * C);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < R; ++r) Row(x + r * C, y + r * C, C);
  Kept& slot = kept[next++ % 16];
  free(slot.answer);
  slot = {hash, R, C, static_cast<float*>(malloc(sizeof(float) * R * C))};
  if (slot.answer != nullptr) memcpy(slot.answer, y, sizeof(float) * R * C);
}
