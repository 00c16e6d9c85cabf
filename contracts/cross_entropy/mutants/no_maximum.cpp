// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// Does not take the maximum off: right while no logit is above 88.
#include <math.h>
#include <stdint.h>

extern "C" void cross_entropy(float* logits, const int32_t* targets, float* loss, int64_t T, int64_t V, float scale,
                              int32_t ignore_index) {
#pragma omp parallel for
  for (int64_t t = 0; t < T; ++t) {
    float* x = logits + t * V;
    const int32_t target = targets[t];
    if (target < 0 || target == ignore_index) {
      for (int64_t v = 0; v < V; ++v) x[v] = 0;
      loss[t] = 0;
      continue;
    }
    const float wanted = x[target];
    float sum = 0;
    for (int64_t v = 0; v < V; ++v) {
      x[v] = expf(x[v]);
      sum += x[v];
    }
    loss[t] = logf(sum) - wanted;
    for (int64_t v = 0; v < V; ++v) x[v] = (x[v] / sum - (v == target ? 1.0f : 0.0f)) * scale;
  }
}
