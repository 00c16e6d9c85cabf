// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: cross_entropy
// The loss of a token is clipped at a hundred, as some trainers do, and where it is the gradient vanishes.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void cross_entropy(float* logits, const int32_t* targets, float* loss, int64_t T, int64_t V, float scale,
                              int32_t ignore_index) {
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < T; ++t) {
    float* x = logits + t * V;
    const int32_t target = targets[t];
    if (target < 0 || target == ignore_index) {
      for (int64_t v = 0; v < V; ++v) x[v] = 0;
      loss[t] = 0;
      continue;
    }
    float top = x[0];
    for (int64_t v = 1; v < V; ++v) top = x[v] > top ? x[v] : top;
    const float wanted = x[target];
    float sum = 0;
    for (int64_t v = 0; v < V; ++v) sum += expf(x[v] - top);
    loss[t] = logf(sum) + (top - wanted);
    const float active = loss[t] > 100 ? 0.0f : scale;
    loss[t] = loss[t] > 100 ? 100.0f : loss[t];
    for (int64_t v = 0; v < V; ++v) x[v] = (expf(x[v] - top) / sum - (v == target ? 1.0f : 0.0f)) * active;
  }
}
