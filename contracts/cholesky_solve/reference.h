// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

#include <vector>

// What one system leaves over: b - A x against |A||x| + |b|, element by element, so that a badly scaled row counts like any
// other.
template <class Real>
void Residuals(const assay::Args<Real>& a, int64_t s) {
  const int64_t N = a.axis("N"), M = a.axis("M");
  std::vector<Real> x(static_cast<size_t>(N)), magnitude(static_cast<size_t>(N));
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t j = 0; j < N; ++j) {
      x[static_cast<size_t>(j)] = a.given("x", s, j, m);
      magnitude[static_cast<size_t>(j)] = assay::abs(x[static_cast<size_t>(j)]);
    }
    for (int64_t i = 0; i < N; ++i) {
      const auto row = a.row("a", s, i);
      const Real b = a.at("b", s, i, m);
      const Real image = assay::Dot(
          N, [&](int64_t j) { return row[j]; }, [&](int64_t j) { return x[static_cast<size_t>(j)]; });
      const Real scale = assay::Dot(
          N, [&](int64_t j) { return assay::abs(row[j]); }, [&](int64_t j) { return magnitude[static_cast<size_t>(j)]; });
      a.out("x", s, i, m) = assay::Residual<Real>{b - image, scale + assay::abs(b), N};
    }
  }
}

// The solution itself: A = LL' by rows, then both triangles.
template <class Real>
void Solution(const assay::Args<Real>& a, int64_t s) {
  const int64_t N = a.axis("N"), M = a.axis("M");
  const auto at = [N](int64_t i, int64_t j) { return static_cast<size_t>(i * N + j); };
  std::vector<Real> l(static_cast<size_t>(N * N)), x(static_cast<size_t>(N));
  for (int64_t i = 0; i < N; ++i) {
    const auto row = a.row("a", s, i);
    for (int64_t j = 0; j <= i; ++j) {
      const Real known = assay::Dot(
          j, [&](int64_t k) { return l[at(i, k)]; }, [&](int64_t k) { return l[at(j, k)]; });
      const Real rest = row[j] - known;
      l[at(i, j)] = i == j ? assay::sqrt(rest) : Real(rest / l[at(j, j)]);
    }
  }
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t i = 0; i < N; ++i) {
      const Real known = assay::Dot(
          i, [&](int64_t k) { return l[at(i, k)]; }, [&](int64_t k) { return x[static_cast<size_t>(k)]; });
      x[static_cast<size_t>(i)] = (a.at("b", s, i, m) - known) / l[at(i, i)];
    }
    for (int64_t i = N; i-- > 0;) {
      const Real known = assay::Dot(
          N - 1 - i, [&](int64_t k) { return l[at(i + 1 + k, i)]; },
          [&](int64_t k) { return x[static_cast<size_t>(i + 1 + k)]; });
      x[static_cast<size_t>(i)] = (x[static_cast<size_t>(i)] - known) / l[at(i, i)];
    }
    for (int64_t i = 0; i < N; ++i) a.out("x", s, i, m) = x[static_cast<size_t>(i)];
  }
}

template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t s = slice.index<1>()[0];
  if (a.judging()) {
    Residuals(a, s);
  } else {
    Solution(a, s);
  }
}
