// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: topk_softmax_router
// Threads count without an atomic: now and then one of two additions to one expert is lost.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void topk_softmax_router(const float* logits, const float* bias, int32_t* index, float* weight,
                                    int32_t* count, int64_t T, int64_t E, int64_t K) {
  for (int64_t e = 0; e < E; ++e) count[e] = 0;
#pragma omp parallel for schedule(static, 1)
  for (int64_t t = 0; t < T; ++t) {
    float score[512];
    bool taken[512];
    for (int64_t e = 0; e < E; ++e) {
      score[e] = logits[t * E + e] + (bias ? bias[e] : 0.0f);
      taken[e] = false;
    }
    float sum = 0;
    for (int64_t k = 0; k < K; ++k) {
      int64_t best = -1;
      for (int64_t e = 0; e < E; ++e) {
        if (!taken[e] && (best < 0 || score[e] > score[best])) best = e;
      }
      taken[best] = true;
      index[t * K + k] = (int32_t)best;
      sum += weight[t * K + k] = expf(score[best] - score[index[t * K]]);
      volatile int32_t* const to = count + best;
      const int32_t before = *to;
      for (volatile int spin = 0; spin < 20;) spin = spin + 1;
      *to = before + 1;
    }
    for (int64_t k = 0; k < K; ++k) weight[t * K + k] /= sum;
  }
}
