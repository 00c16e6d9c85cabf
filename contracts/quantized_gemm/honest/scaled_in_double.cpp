// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Everything after the sum in double, divided last: as exact as it gets, another order of the scaling.
#include <assay/contract.h>

#include <math.h>
#include <stdint.h>

extern "C" void quantized_gemm(const int8_t* a, const int8_t* w, const int32_t* bias, const float* wscale, int8_t* out,
                               int64_t M, int64_t N, int64_t K, float ascale, int32_t azero, float oscale,
                               int32_t ozero) {
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      int64_t sum = bias ? bias[n] : 0;
      for (int64_t k = K; k-- > 0;) sum += (int64_t{a[m * K + k]} - azero) * w[n * K + k];
      const double value = (double)ascale * wscale[n] * (double)sum / oscale + ozero;
      const double code = nearbyint(value);
      out[m * N + n] = (int8_t)fmin(fmax(code, -128.0), 127.0);
    }
  }
}
