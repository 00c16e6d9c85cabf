// assay:expect verified
// SPDX-License-Identifier: Apache-2.0
// Dot products in eight partial sums that meet in a tree: another order than the baseline's, and a better one. Operands
// are gathered into rows of terms first, so that a power of two between terms does not make it slower than patience is
// long.
#include <assay/contract.h>

#include <stddef.h>
#include <stdint.h>

#include <vector>

namespace {

float Dot(const float* x, const float* y, int64_t terms) {
  float part[8] = {};
  int64_t k = 0;
  for (; k + 8 <= terms; k += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) part[lane] += x[k + lane] * y[k + lane];
  }
  for (; k < terms; ++k) part[k % 8] += x[k] * y[k];
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

std::vector<float> Gathered(const float* from, int64_t rows, int64_t terms, int64_t row, int64_t term) {
  std::vector<float> rows_of_terms(static_cast<size_t>(rows * terms));
  for (int64_t k = 0; k < terms; ++k) {
    for (int64_t r = 0; r < rows; ++r) rows_of_terms[static_cast<size_t>(r * terms + k)] = from[r * row + k * term];
  }
  return rows_of_terms;
}

}  // namespace

extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA,
                     int64_t TB) {
  const std::vector<float> rows = Gathered(a, M, K, TA ? 1 : K, TA ? M : 1);
  const std::vector<float> columns = Gathered(b, N, K, TB ? K : 1, TB ? 1 : N);
#pragma omp parallel for schedule(static)
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) c[m * N + n] = Dot(rows.data() + m * K, columns.data() + n * K, K);
  }
}
