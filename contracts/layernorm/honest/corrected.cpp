// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Two passes whose variance is corrected by what the rounded mean leaves (Chan, Golub and LeVeque 1983), sums in eight
// parts, and a division by the deviation.
#include <math.h>
#include <stdint.h>

extern "C" void layernorm(const float* x, const float* gain, const float* bias, float* y, float* mean, float* rstd,
                          int64_t R, int64_t C, float eps) {
#pragma omp parallel for
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * C;
    float part[8] = {}, square[8] = {}, rest[8] = {};
    for (int64_t c = 0; c < C; ++c) part[c % 8] += in[c];
    const float mu = (((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))) /
                     static_cast<float>(C);
    for (int64_t c = 0; c < C; ++c) {
      const float deviation = in[c] - mu;
      square[c % 8] += deviation * deviation;
      rest[c % 8] += deviation;
    }
    for (int i = 1; i < 8; ++i) square[0] += square[i], rest[0] += rest[i];
    const float variance = (square[0] - rest[0] * rest[0] / static_cast<float>(C)) / static_cast<float>(C);
    const float deviation = sqrtf(variance + eps);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = (in[c] - mu) / deviation * gain[c] + bias[c];
    if (mean != nullptr) mean[r] = mu;
    if (rstd != nullptr) rstd[r] = 1.0f / deviation;
  }
}
