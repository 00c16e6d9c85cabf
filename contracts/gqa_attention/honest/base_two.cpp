// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Scores of a row kept whole and in units of ln 2, exp2f in place of expf, columns of V summed in pairs of keys: another
// order and another exponential than the baseline's, and as exact.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

extern "C" void gqa_attention(const float* q, const float* k, const float* v, float* o, float* lse, int64_t B, int64_t T,
                              int64_t H, int64_t KV, int64_t D, int64_t ldk, float scale) {
  const int64_t group = H / KV;
#pragma omp parallel
  {
    float* s = static_cast<float*>(malloc(static_cast<size_t>(T + 1) * sizeof(float)));
#pragma omp for collapse(2) schedule(dynamic, 4)
    for (int64_t b = 0; b < B; ++b)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t t = 0; t < T; ++t) {
          const int64_t at = (b * T + t) * H + h, kv = h / group;
          const float* query = q + at * D;
          float maximum = 0;
          for (int64_t j = 0; j <= t; ++j) {
            const float* key = k + (b * T + j) * ldk + kv * D;
            float part[8] = {};
            for (int64_t d = 0; d < D; d += 8)
              for (int64_t i = 0; i < 8; ++i) part[i] += query[d + i] * key[d + i];
            s[j] = ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
            if (j == 0 || s[j] > maximum) maximum = s[j];
          }
          float sum = 0;
          for (int64_t j = 0; j <= t; ++j) {
            s[j] = exp2f((s[j] - maximum) * (scale * 1.44269504f));
            sum += s[j];
          }
          s[t + 1] = 0;
          float out[128] = {};
          for (int64_t j = 0; j <= t; j += 2) {
            const float* value = v + ((b * T + j) * KV + kv) * D;
            const float* next = j + 1 <= t ? value + KV * D : value;
            for (int64_t d = 0; d < D; ++d) out[d] += s[j] * value[d] + s[j + 1] * next[d];
          }
          const float inverse = 1 / sum;
          for (int64_t d = 0; d < D; ++d) o[at * D + d] = out[d] * inverse;
          if (lse) lse[at] = maximum * scale + logf(sum);
        }
    free(s);
  }
}
