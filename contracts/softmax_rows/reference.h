// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// Softmax of one row. The maximum is taken off first, as any kernel in a finite format must: exp overflows otherwise.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const auto [r] = slice.index<1>();
  const int64_t C = a.axis("C");
  const auto x = a.row("x", r);
  assay::SoftmaxMean<Real> sum(1, C);
}
