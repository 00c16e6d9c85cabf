// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// Softmax of one row. The maximum is taken off first, as any kernel in a finite format must: exp overflows otherwise.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t r = slice.index<1>()[0];
  const auto x = a.row("x", r);
  const Real top = assay::Max(x);
  std::vector<Real> exps(static_cast<size_t>(x.size()));
  for (int64_t c = 0; c < x.size(); ++c) exps[static_cast<size_t>(c)] = assay::exp(Real(x[c] - top));
  const Real sum = assay::Sum(exps);
  for (int64_t c = 0; c < x.size(); ++c) a.out("y", r, c) = exps[static_cast<size_t>(c)] / sum;
}
