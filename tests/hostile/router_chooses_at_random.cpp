// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: constant, contract: topk_softmax_router
// No expert is chosen by its score; weights and counts are right for those that were named, so that only the keys can tell.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void topk_softmax_router(const float* logits, const float* bias, int32_t* index, float* weight,
                                    int32_t* count, int64_t T, int64_t E, int64_t K) {
  for (int64_t e = 0; e < E; ++e) count[e] = 0;
  for (int64_t t = 0; t < T; ++t) {
    float sum = 0, top = -INFINITY;
    for (int64_t k = 0; k < K; ++k) {
      index[t * K + k] = (int32_t)((t + k) % E);
      ++count[(t + k) % E];
      const float score = logits[t * E + (t + k) % E] + (bias ? bias[(t + k) % E] : 0.0f);
      weight[t * K + k] = score;
      top = fmaxf(top, score);
    }
    for (int64_t k = 0; k < K; ++k) sum += weight[t * K + k] = expf(weight[t * K + k] - top);
    for (int64_t k = 0; k < K; ++k) weight[t * K + k] /= sum;
  }
}
