// SPDX-License-Identifier: Apache-2.0
#include <assay/draw.h>

#include <algorithm>
#include <cmath>
#include <vector>

// Each system gets a spectrum of its own, from a multiple of the identity to a condition of 10^4, mixed by two reflections,
// and in half of them rows and columns are graded over up to four powers of ten, which costs a factorisation nothing.
// Beyond that condition rounding alone would make some pivots negative (Demmel 1989: N*u times it must stay below one).
void Inputs(assay::Draw& draw) {
  const int64_t B = draw.axis("B"), N = draw.axis("N");
  assay::Random& random = draw.random();
  auto a = draw.tensor("a");
  const auto size = static_cast<size_t>(N);
  std::vector<double> matrix(size * size), v(size), image(size), grade(size);
  for (int64_t s = 0; s < B; ++s) {
    const double span = random.Uniform(0, 4) * std::log(10.0), grading = random.Below(2) * random.Uniform(0, 4);
    std::fill(matrix.begin(), matrix.end(), 0.0);
    for (size_t i = 0; i < size; ++i) {
      matrix[i * size + i] = std::exp(-span * random.Unit());
      grade[i] = std::pow(10.0, -grading * random.Unit());
    }
    for (int reflection = 0; reflection < 2; ++reflection) {
      double square = 0;
      for (double& x : v) {
        x = random.Normal();
        square += x * x;
      }
      // H A H with H = I - 2vv'/v'v: A - v w' - w v', w = 2(Av - (v'Av/v'v) v)/v'v.
      double form = 0;
      for (size_t i = 0; i < size; ++i) {
        image[i] = 0;
        for (size_t j = 0; j < size; ++j) image[i] += matrix[i * size + j] * v[j];
        form += image[i] * v[i];
      }
      for (size_t i = 0; i < size; ++i) image[i] = 2 * (image[i] - form / square * v[i]) / square;
      for (size_t i = 0; i < size; ++i)
        for (size_t j = 0; j < size; ++j) matrix[i * size + j] -= v[i] * image[j] + image[i] * v[j];
    }
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        const double value = grade[i] * matrix[i * size + j] * grade[j];
        a.set({s, static_cast<int64_t>(i), static_cast<int64_t>(j)}, value);
        a.set({s, static_cast<int64_t>(j), static_cast<int64_t>(i)}, value);
      }
    }
  }
}
