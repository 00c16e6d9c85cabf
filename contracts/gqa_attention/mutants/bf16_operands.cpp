// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Every operand rounded to bf16, sums in f32: the accuracy of another format under the name of f32.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace {

float Bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
  memcpy(&x, &bits, 4);
  return x;
}

}  // namespace

extern "C" void gqa_attention(const float* q, const float* k, const float* v, float* o, float* lse, int64_t B, int64_t T,
                              int64_t H, int64_t KV, int64_t D, int64_t ldk, float scale) {
  const int64_t group = H / KV;
#pragma omp parallel
  {
    float* s = static_cast<float*>(malloc(static_cast<size_t>(T) * sizeof(float)));
#pragma omp for collapse(3) schedule(dynamic, 16)
    for (int64_t b = 0; b < B; ++b)
      for (int64_t t = 0; t < T; ++t)
        for (int64_t h = 0; h < H; ++h) {
          const int64_t at = (b * T + t) * H + h, kv = h / group;
          const float* query = q + at * D;
          const int64_t seen = t + 1;
          float maximum = -INFINITY;
          for (int64_t j = 0; j < seen; ++j) {
            const float* key = k + (b * T + j) * ldk + kv * D;
            float dot = 0;
            for (int64_t d = 0; d < D; ++d) dot += Bf16(query[d]) * Bf16(key[d]);
            s[j] = dot * scale;
            maximum = s[j] > maximum ? s[j] : maximum;
          }
          float out[128] = {};
          float sum = 0;
          for (int64_t j = 0; j < seen; ++j) {
            const float* value = v + ((b * T + j) * KV + kv) * D;
            const float weight = expf(s[j] - maximum);
            sum += weight;
            for (int64_t d = 0; d < D; ++d) out[d] += weight * Bf16(value[d]);
          }
          for (int64_t d = 0; d < D; ++d) o[at * D + d] = out[d] / sum;
          if (lse) lse[at] = maximum + logf(sum);
        }
    free(s);
  }
}
