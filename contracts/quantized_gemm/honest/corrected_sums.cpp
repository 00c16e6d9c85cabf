// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Plain products, with the zero point taken off by the sums of the weights; reciprocal of the scale; clamped before it is
// rounded.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void quantized_gemm(const int8_t* a, const int8_t* w, const int32_t* bias, const float* wscale, int8_t* out,
                               int64_t M, int64_t N, int64_t K, float ascale, int32_t azero, float oscale,
                               int32_t ozero) {
  const float inverse = 1.0f / oscale;
#pragma omp parallel for schedule(static)
  for (int64_t n = 0; n < N; ++n) {
    int32_t weights = 0;
    for (int64_t k = 0; k < K; ++k) weights += w[n * K + k];
    const int32_t base = (bias ? bias[n] : 0) - azero * weights;
    const float factor = ascale * inverse * wscale[n];
    for (int64_t m = 0; m < M; ++m) {
      int32_t even = 0, odd = 0;
      for (int64_t k = 0; k + 1 < K; k += 2) {
        even += a[m * K + k] * w[n * K + k];
        odd += a[m * K + k + 1] * w[n * K + k + 1];
      }
      if (K % 2) even += a[m * K + K - 1] * w[n * K + K - 1];
      float value = (float)(even + odd + base) * factor;
      value = fminf(fmaxf(value + (float)ozero, -128.0f), 127.0f);
      out[m * N + n] = (int8_t)lrintf(value);
    }
  }
}
