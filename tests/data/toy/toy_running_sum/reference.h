// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

#include <vector>

// One token.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t t = slice.index<1>()[0];
  const auto x = a.row("x", t);
  const Real largest = assay::Max(x);
  std::vector<Real> e;
  for (int64_t n = 0; n < x.size(); ++n) e.push_back(assay::exp(Real(x[n] - largest)));
  const Real sum = assay::Sum(e);
  for (int64_t n = 0; n < x.size(); ++n) {
    a.out("y", t, n) = assay::Sum(t + 1, [&](int64_t j) { return a.at("x", j, n); });
    a.out("p", t, n) = e[static_cast<size_t>(n)] / sum;
  }
}
