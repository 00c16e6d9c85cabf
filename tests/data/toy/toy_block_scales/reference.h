// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One row. A scale is a power of two: products and quotients with it are exact but for the ends of the range.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t row = slice.index<1>()[0];
  const auto x = a.row("x", row), w = a.row("w", row), s = a.row("s", row);
  a.out("y", row) = assay::Dot(x.size(), [&](int64_t i) { return x[i]; }, [&](int64_t i) { return Real(w[i] * s[i / 32]); });
  for (int64_t i = 0; i < x.size(); ++i) a.out("q", row, i) = x[i] / s[i / 32];
}
