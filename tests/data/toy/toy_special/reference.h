// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One row.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t row = slice.index<1>()[0];
  const auto x = a.row("x", row);
  const Real factor = a.at("factor", row);
  for (int64_t n = 0; n < x.size(); ++n) a.out("y", row, n) = x[n] * factor + Real(1.0);
}
