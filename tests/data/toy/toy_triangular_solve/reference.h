// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

#include <vector>

// One system.  With an answer at hand, what it leaves of each equation; without, forward substitution.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t system = slice.index<1>()[0], n = a.axis("N");
  const auto b = a.row("b", system);
  std::vector<Real> x;
  for (int64_t i = 0; i < n; ++i) {
    const auto l = a.row("l", system, i);
    const Real diagonal = Real(1.0) + assay::abs(l[i]);
    if (a.judging()) {
      const Real own = a.given("x", system, i);
      const Real rest = assay::Dot(i, [&](int64_t j) { return l[j]; }, [&](int64_t j) { return x[j]; });
      const Real sizes = assay::Sum(i, [&](int64_t j) { return assay::abs(Real(l[j] * x[j])); });
      a.out("x", system, i) =
          assay::Residual<Real>{b[i] - rest - diagonal * own, assay::abs(b[i]) + sizes + diagonal * assay::abs(own), n};
      x.push_back(own);
    } else {
      const Real rest = assay::Dot(i, [&](int64_t j) { return l[j]; }, [&](int64_t j) { return x[j]; });
      x.push_back((b[i] - rest) / diagonal);
      a.out("x", system, i) = x.back();
    }
  }
}
