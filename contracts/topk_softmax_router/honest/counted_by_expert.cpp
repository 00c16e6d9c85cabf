// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// The position of each expert is found by counting those before it, the weights in double: no sorting, no order of sums in common
// with anybody.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void topk_softmax_router(const float* logits, const float* bias, int32_t* index, float* weight,
                                    int32_t* count, int64_t T, int64_t E, int64_t K) {
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < T; ++t) {
    float score[512];
    for (int64_t e = 0; e < E; ++e) score[e] = bias ? logits[t * E + e] + bias[e] : logits[t * E + e];
    for (int64_t e = 0; e < E; ++e) {
      int64_t before = 0;
      for (int64_t other = 0; other < E; ++other) before += score[other] > score[e] || (score[other] == score[e] && other < e);
      if (before < K) index[t * K + before] = (int32_t)e;
    }
    double sum = 0;
    for (int64_t k = 0; k < K; ++k) sum += exp((double)score[index[t * K + k]] - score[index[t * K]]);
    for (int64_t k = 0; k < K; ++k) {
      weight[t * K + k] = (float)(exp((double)score[index[t * K + k]] - score[index[t * K]]) / sum);
    }
  }
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < E; ++e) {
    int32_t tokens = 0;
    for (int64_t i = 0; i < T * K; ++i) tokens += index[i] == e;
    count[e] = tokens;
  }
}
