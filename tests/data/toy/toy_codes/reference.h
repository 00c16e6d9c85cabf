// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

#include <algorithm>

// One row.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t row = slice.index<1>()[0], n = a.axis("N");
  const auto w = a.row("w", row), s = a.row("s", row);
  for (int64_t i = 0; i < n; ++i) {
    a.out("p", row, i) = Real(static_cast<double>(std::min<int64_t>(a.integer("w", row, i) + 1, 7)));
    const Real product = s[i] * w[i];
    a.out("r", row, i) = product;
    a.out("z", row, i) = product;
  }
}
