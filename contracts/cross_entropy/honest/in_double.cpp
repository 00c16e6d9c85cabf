// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Sums and quotients in double, from the last class to the first.
#include <math.h>
#include <stdint.h>

extern "C" void cross_entropy(float* logits, const int32_t* targets, float* loss, int64_t T, int64_t V, float scale,
                              int32_t ignore_index) {
#pragma omp parallel for schedule(dynamic, 2)
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
    double sum = 0;
    for (int64_t v = V - 1; v >= 0; --v) sum += exp(static_cast<double>(x[v]) - static_cast<double>(top));
    loss[t] = static_cast<float>(log(sum) + static_cast<double>(top) - static_cast<double>(x[target]));
    for (int64_t v = V - 1; v >= 0; --v) {
      const double p = exp(static_cast<double>(x[v]) - static_cast<double>(top)) / sum;
      x[v] = static_cast<float>((p - (v == target ? 1 : 0)) * static_cast<double>(scale));
    }
  }
}
