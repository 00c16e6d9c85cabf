// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// One pass per row with an online softmax: no score is stored, the output is rescaled whenever the maximum grows.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void gqa_attention(const float* q, const float* k, const float* v, float* o, float* lse, int64_t B, int64_t T,
                              int64_t H, int64_t KV, int64_t D, int64_t ldk, float scale) {
  const int64_t group = H / KV;
#pragma omp parallel for collapse(3) schedule(dynamic, 16)
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t h = 0; h < H; ++h) {
        const int64_t at = (b * T + t) * H + h, kv = h / group;
        const float* query = q + at * D;
        float out[128] = {};
        float maximum = 0, sum = 0;
        for (int64_t j = 0; j <= t; ++j) {
          const float* key = k + (b * T + j) * ldk + kv * D;
          const float* value = v + ((b * T + j) * KV + kv) * D;
          float dot = 0;
          for (int64_t d = 0; d < D; ++d) dot += query[d] * key[d];
          const float s = dot * scale;
          float weight = 1;
          if (j == 0 || s > maximum) {
            const float rescale = j == 0 ? 0.0f : expf(maximum - s);
            for (int64_t d = 0; d < D; ++d) out[d] *= rescale;
            sum *= rescale;
            maximum = s;
          } else {
            weight = expf(s - maximum);
          }
          for (int64_t d = 0; d < D; ++d) out[d] += weight * value[d];
          sum += weight;
        }
        for (int64_t d = 0; d < D; ++d) o[at * D + d] = out[d] / sum;
        if (lse) lse[at] = maximum + logf(sum);
      }
}
