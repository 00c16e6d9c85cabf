// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// One pass over the experts with a sorted list of the best so far; exponentials in base two, summed from the smallest;
// counted by a second pass over the indices.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void topk_softmax_router(const float* logits, const float* bias, int32_t* index, float* weight,
                                    int32_t* count, int64_t T, int64_t E, int64_t K) {
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < T; ++t) {
    float best[16];
    int32_t expert[16];
    int64_t kept = 0;
    for (int64_t e = 0; e < E; ++e) {
      const float score = bias ? bias[e] + logits[t * E + e] : logits[t * E + e];
      if (kept == K && !(score > best[K - 1])) continue;
      int64_t at = kept < K ? kept++ : K - 1;
      for (; at > 0 && score > best[at - 1]; --at) {
        best[at] = best[at - 1];
        expert[at] = expert[at - 1];
      }
      best[at] = score;
      expert[at] = (int32_t)e;
    }
    float sum = 0;
    for (int64_t k = K; k-- > 0;) {
      weight[t * K + k] = exp2f((best[k] - best[0]) * 1.44269504f);
      index[t * K + k] = expert[k];
      sum += weight[t * K + k];
    }
    const float inverse = 1.0f / sum;
    for (int64_t k = 0; k < K; ++k) weight[t * K + k] *= inverse;
  }
  for (int64_t e = 0; e < E; ++e) count[e] = 0;
  for (int64_t i = 0; i < T * K; ++i) ++count[index[i]];
}
