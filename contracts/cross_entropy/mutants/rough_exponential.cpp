// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// An exponential by a polynomial of degree three: off by up to 1e-4.
#include <math.h>
#include <stdint.h>

static float RoughExp(float x) {
  const float t = x * 1.44269504f, n = floorf(t), f = t - n;
  return ldexpf(0.99992807f + f * (0.69326099f + f * (0.22592838f + f * 0.07826540f)), static_cast<int>(fmaxf(n, -200.0f)));
}

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
    float top = x[0];
    for (int64_t v = 1; v < V; ++v) top = x[v] > top ? x[v] : top;
    const float wanted = x[target];
    float sum = 0;
    for (int64_t v = 0; v < V; ++v) {
      x[v] = RoughExp(x[v] - top);
      sum += x[v];
    }
    loss[t] = logf(sum) + (top - wanted);
    for (int64_t v = 0; v < V; ++v) x[v] = (x[v] / sum - (v == target ? 1.0f : 0.0f)) * scale;
  }
}
