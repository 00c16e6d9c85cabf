// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One block of y = a*x + b.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t block = slice.index<1>()[0];
  const auto x = a.row("x", block);
  const Real factor = a.scalar("a"), offset = a.scalar("b");
  for (int64_t i = 0; i < x.size(); ++i) a.out("y", block, i) = factor * x[i] + offset;
}
