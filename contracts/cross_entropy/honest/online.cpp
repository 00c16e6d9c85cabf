// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Maximum and sum in one pass, the sum rescaled when the maximum rises; the loss by way of log-sum-exp.
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
    float top = x[0], sum = 1;
    for (int64_t v = 1; v < V; ++v) {
      if (x[v] > top) {
        sum = sum * expf(top - x[v]) + 1;
        top = x[v];
      } else {
        sum += expf(x[v] - top);
      }
    }
    loss[t] = (top + logf(sum)) - x[target];
    const float factor = scale / sum;
    for (int64_t v = 0; v < V; ++v) x[v] = expf(x[v] - top) * factor;
    x[target] -= scale;
  }
}
