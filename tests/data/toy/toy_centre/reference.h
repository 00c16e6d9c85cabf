// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One row; the reference reads what x held before the call.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t row = slice.index<1>()[0];
  const auto x = a.row("x", row);
  const int64_t n = x.size();
  const Real mean = assay::Mean(x);
  const Real scale = a.scalar("scale");
  for (int64_t i = 0; i < n; ++i) {
    const Real centred = (x[i] - mean) * scale;
    if (a.has("shift")) {
      a.out("x", row, i) = centred + a.at("shift", i);
    } else {
      a.out("x", row, i) = centred;
    }
  }
}
