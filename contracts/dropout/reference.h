// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One row: each element is kept and scaled with probability 1 - p.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t r = slice.index<1>()[0];
  const auto x = a.row("x", r);
  const Real keep = Real(1.0) - a.scalar("p");
  for (int64_t c = 0; c < x.size(); ++c) a.out("y", r, c) = assay::Chance<Real>{keep, x[c] / keep, Real(0.0)};
}
