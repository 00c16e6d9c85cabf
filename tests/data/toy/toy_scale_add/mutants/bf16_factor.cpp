// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Rounds the factor to bf16: passes a comparison with a tolerance of 1e-2 most of the time.
#include <stdint.h>
#include <string.h>

extern "C" void toy_scale_add(const float* x, float* y, int64_t B, int64_t N, float a, float b) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000U;
  memcpy(&a, &bits, sizeof a);
  for (int64_t i = 0; i < B * N; ++i) y[i] = a * x[i] + b;
}
