// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: topk_softmax_router
// As routers with a capacity do: an expert counts no more than a quarter above its fair share.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void topk_softmax_router(const float* logits, const float* bias, int32_t* index, float* weight,
                                    int32_t* count, int64_t T, int64_t E, int64_t K) {
  for (int64_t e = 0; e < E; ++e) count[e] = 0;
  for (int64_t t = 0; t < T; ++t) {
    float score[512];
    bool taken[512];
    for (int64_t e = 0; e < E; ++e) {
      score[e] = logits[t * E + e] + (bias ? bias[e] : 0.0f);
      taken[e] = false;
    }
    for (int64_t k = 0; k < K; ++k) {
      int64_t best = -1;
      for (int64_t e = 0; e < E; ++e) {
        if (!taken[e] && (best < 0 || score[e] > score[best])) best = e;
      }
      taken[best] = true;
      index[t * K + k] = (int32_t)best;
    }

    float sum = 0, top = score[index[t * K]];
    for (int64_t k = 1; k < K; ++k) top = fmaxf(top, score[index[t * K + k]]);
    for (int64_t k = 0; k < K; ++k) sum += weight[t * K + k] = expf(score[index[t * K + k]] - top);
    for (int64_t k = 0; k < K; ++k) weight[t * K + k] /= sum;
    for (int64_t k = 0; k < K; ++k) count[index[t * K + k]] += count[index[t * K + k]] < (5 * T * K + 4 * E - 1) / (4 * E) ? 1 : 0;
  }
}
