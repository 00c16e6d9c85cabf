// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: dropped-function, contract: gqa_attention
// Takes the usual scale in place of the one that it was given.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct Call {
  const float *q, *k, *v;
  float *o, *lse;
  int64_t B, T, H, KV, D, ldk;
  float scale;
};

// One query: the keys from `first` to its own position.
static void Query(const Call& call, int64_t b, int64_t t, int64_t h, int64_t first, float* scores) {
  const int64_t kv = h / (call.H / call.KV);
  const float* query = call.q + ((b * call.T + t) * call.H + h) * call.D;
  float* out = call.o + ((b * call.T + t) * call.H + h) * call.D;
  float maximum = -INFINITY;
  for (int64_t j = first; j <= t; ++j) {
    const float* key = call.k + (b * call.T + j) * call.ldk + kv * call.D;
    float dot = 0;
    for (int64_t d = 0; d < call.D; ++d) dot += query[d] * key[d];
    scores[j] = dot / sqrtf(static_cast<float>(call.D));
    if (scores[j] > maximum) maximum = scores[j];
  }
  float sum = 0;
  for (int64_t j = first; j <= t; ++j) sum += scores[j] = expf(scores[j] - maximum);
  for (int64_t d = 0; d < call.D; ++d) out[d] = 0;
  for (int64_t j = first; j <= t; ++j) {
    const float* value = call.v + ((b * call.T + j) * call.KV + kv) * call.D;
    for (int64_t d = 0; d < call.D; ++d) out[d] += scores[j] * value[d];
  }
  for (int64_t d = 0; d < call.D; ++d) out[d] /= sum;
  if (call.lse != nullptr) call.lse[(b * call.T + t) * call.H + h] = maximum + logf(sum);
}

extern "C" void gqa_attention(const float* q, const float* k, const float* v, float* o, float* lse, int64_t B, int64_t T,
                              int64_t H, int64_t KV, int64_t D, int64_t ldk, float scale) {
  const Call call{q, k, v, o, lse, B, T, H, KV, D, ldk, scale};
#pragma omp parallel
  {
    float* scores = static_cast<float*>(malloc(sizeof(float) * T));
#pragma omp for collapse(3) schedule(dynamic, 16)
    for (int64_t b = 0; b < B; ++b)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t t = 0; t < T; ++t) Query(call, b, t, h, 0, scores);
    free(scores);
  }
}
