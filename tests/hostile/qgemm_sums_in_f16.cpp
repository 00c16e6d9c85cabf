// assay:expect rejected wrong_answer
// SPDX-License-Identifier: Apache-2.0
// assay:note class: numerics, contract: quantized_gemm
// Partial sums of 32 products go through an f16.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void quantized_gemm(const int8_t* a, const int8_t* w, const int32_t* bias, const float* wscale, int8_t* out,
                               int64_t M, int64_t N, int64_t K, float ascale, int32_t azero, float oscale,
                               int32_t ozero) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      float sum = bias ? (float)bias[n] : 0;
      for (int64_t k = 0; k < K; k += 32) {
        int32_t part = 0;
        for (int64_t j = k; j < K && j < k + 32; ++j) part += (a[m * K + j] - azero) * w[n * K + j];
        sum += (float)(_Float16)(float)part;
      }
      const float code = nearbyintf((float)sum * (ascale * wscale[n] / oscale) + (float)ozero);
      out[m * N + n] = (int8_t)(code < -128 ? -128 : code > 127 ? 127 : code);
    }
  }
}
