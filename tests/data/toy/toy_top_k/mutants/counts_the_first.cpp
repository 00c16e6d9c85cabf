// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Counts only the first choice of each token.
#include <math.h>
#include <stdint.h>

extern "C" void toy_top_k(const float* score, const float* bias, int32_t* index, float* weight, int32_t* count,
                          int64_t T, int64_t E, int64_t K) {
  for (int64_t e = 0; e < E; ++e) count[e] = 0;
  for (int64_t t = 0; t < T; ++t) {
    float key[64];
    int taken[64];
    for (int64_t e = 0; e < E; ++e) {
      key[e] = bias ? score[t * E + e] + bias[e] : score[t * E + e];
      taken[e] = 0;
    }
    for (int64_t k = 0; k < K; ++k) {
      int64_t best = -1;
      for (int64_t e = 0; e < E; ++e) {
        if (!taken[e] && (best < 0 || key[e] > key[best])) best = e;
      }
      taken[best] = 1;
      index[t * K + k] = (int32_t)best;
      if (k == 0) ++count[best];
    }
    const float top = key[index[t * K]];
    float sum = 0;
    for (int64_t k = 0; k < K; ++k) sum += expf(key[index[t * K + k]] - top);
    for (int64_t k = 0; k < K; ++k) weight[t * K + k] = expf(key[index[t * K + k]] - top) / sum;
  }
}
