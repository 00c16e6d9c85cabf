// SPDX-License-Identifier: Apache-2.0
// What a user would compose from a BLAS: per head and block of queries, S = Q K^T by sgemm over the keys the block can
// see, a vectorised softmax in place, O = P V by sgemm.  Threads go over heads and query blocks, the library itself runs
// single-threaded, because two thread pools on the same cores fight.  Blocks of QUERIES rows: 128 is the faster of 64
// and 128 at T = 1024 (less packing inside sgemm against more work beyond the diagonal).
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef QUERIES
#define QUERIES 128
#endif

namespace {

typedef float Vec __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t IntVec __attribute__((vector_size(64), may_alias));

Vec Exp2(Vec x) {
  const Vec least = Vec{} - 127.0f;
  x = x > least ? x : least;
  const Vec shifted = x + (12582912.0f + 127.0f);
  const Vec f = x - (shifted - (12582912.0f + 127.0f));
  Vec p = Vec{} + 1.559468656e-04f;
  p = p * f + 1.340664690e-03f;
  p = p * f + 9.617692791e-03f;
  p = p * f + 5.550310388e-02f;
  p = p * f + 2.402265221e-01f;
  p = p * f + 6.931472421e-01f;
  p = p * f + 1.0f;
  return p * reinterpret_cast<Vec>(reinterpret_cast<IntVec>(shifted) << 23);
}

// Softmax of the first `seen` scores of a row; the rest up to `width` becomes zero.  Rows are padded to whole vectors.
float Softmax(float* s, int64_t seen, int64_t width, float c, float* maximum) {
  const int64_t padded = (width + 15) / 16 * 16;
  for (int64_t j = seen; j < padded; ++j) s[j] = -1e30f;
  Vec m = Vec{} - 1e30f;
  for (int64_t j = 0; j < padded; j += 16) {
    const Vec x = *reinterpret_cast<Vec*>(s + j);
    m = x > m ? x : m;
  }
  float largest = m[0];
  for (int i = 1; i < 16; ++i) largest = m[i] > largest ? m[i] : largest;
  Vec sums = {};
  for (int64_t j = 0; j < padded; j += 16) {
    const Vec x = Exp2((*reinterpret_cast<Vec*>(s + j) - largest) * c);
    *reinterpret_cast<Vec*>(s + j) = x;
    sums += x;
  }
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += sums[i];
  *maximum = largest;
  return sum;
}

}  // namespace

extern "C" void gqa_attention(const float* q, const float* k, const float* v, float* o, float* lse, int64_t B, int64_t T,
                              int64_t H, int64_t KV, int64_t D, int64_t ldk, float scale) {
  openblas_set_num_threads(1);
  const int64_t group = H / KV, blocks = (T + QUERIES - 1) / QUERIES, stride = (T + 15) / 16 * 16 + 16;
  const float c = scale * 1.44269504f;
  // One allocation, so that it comes from the same warm memory in each call.
  float* memory = static_cast<float*>(malloc(static_cast<size_t>(omp_get_max_threads() * QUERIES * stride) * 4));
#pragma omp parallel
  {
    float* s = memory + omp_get_thread_num() * QUERIES * stride;
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < B * H * blocks; ++i) {
      const int64_t block = blocks - 1 - i / (B * H), b = i % (B * H) / H, h = i % H, kv = h / group;
      const int64_t t0 = block * QUERIES, rows = T - t0 < QUERIES ? T - t0 : QUERIES, keys = t0 + rows;
      const float* query = q + ((b * T + t0) * H + h) * D;
      float* out = o + ((b * T + t0) * H + h) * D;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(rows), static_cast<int>(keys),
                  static_cast<int>(D), 1.0f, query, static_cast<int>(H * D), k + b * T * ldk + kv * D,
                  static_cast<int>(ldk), 0.0f, s, static_cast<int>(stride));
      float inverse[QUERIES];
      for (int64_t r = 0; r < rows; ++r) {
        float maximum;
        const float sum = Softmax(s + r * stride, t0 + r + 1, keys, c, &maximum);
        inverse[r] = 1.0f / sum;
        if (lse) lse[(b * T + t0 + r) * H + h] = maximum * scale + logf(sum);
      }
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows), static_cast<int>(D),
                  static_cast<int>(keys), 1.0f, s, static_cast<int>(stride), v + (b * T * KV + kv) * D,
                  static_cast<int>(KV * D), 0.0f, out, static_cast<int>(H * D));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t d = 0; d < D; ++d) out[r * H * D + d] *= inverse[r];
      }
    }
  }
  free(memory);
}

extern "C" const char* gqa_attention_info() {
  static char text[160];
  snprintf(text, sizeof text, "OpenBLAS %s, causal query blocks of %d, one library thread per OpenMP thread",
           openblas_get_corename(), QUERIES);
  return text;
}
