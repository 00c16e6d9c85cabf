// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// Residual add and RMSNorm of one row.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const auto [r] = slice.index<1>();
  const int64_t C = a.axis("C");
  const auto x = a.row("x", r), residual = a.row("residual", r), weight = a.row("weight");
  assay::Sum<Real> squares;
  for (int64_t c = 0; c < C; ++c) {
    const Real sum = x[c] + residual[c];
    a.out("s", r, c) = sum;
    squares.add(sum * sum);
  }
  const Real rms = assay::sqrt(squares.value() / Real(C) + a.scalar("eps"));
  for (int64_t c = 0; c < C; ++c) a.out("y", r, c) = (x[c] + residual[c]) / rms * weight[c];
}
