// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// Softmax of one row. The maximum is taken off first, as any kernel in a finite format must: exp overflows otherwise.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t r = slice.index<1>()[0];
  const auto x = a.row("x", r);
  const auto sum = assay::SumExp(x);
  for (int64_t c = 0; c < x.size(); ++c) a.out("y", r, c) = assay::exp(Real(x[c] - sum.top)) / sum.total;
}
