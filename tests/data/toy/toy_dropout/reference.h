// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One block: what each element is when it is kept, when it is not, and how probable the first is.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t block = slice.index<1>()[0];
  const auto x = a.row("x", block);
  const Real keep = Real(1.0) - a.scalar("drop");
  for (int64_t i = 0; i < x.size(); ++i) a.out("y", block, i) = assay::Chance<Real>{keep, x[i] / keep, Real(0.0)};
}
