// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One row: its scale, and its codes, unrounded, by the scale that was returned.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t row = slice.index<1>()[0];
  const auto x = a.row("x", row);
  const Real largest = assay::Max(x.size(), [&](int64_t i) { return assay::abs(x[i]); });
  a.out("scale", row) = largest / Real(127.0);
  const Real scale = a.given("scale", row);
  for (int64_t i = 0; i < x.size(); ++i) a.out("q", row, i) = x[i] / scale;
}
