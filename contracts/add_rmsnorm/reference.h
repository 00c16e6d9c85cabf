// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// Residual add and RMSNorm of one row.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t r = slice.index<1>()[0];
  const auto x = a.row("x", r);
  const auto residual = a.row("residual", r);
  const auto weight = a.row("weight");
  std::vector<Real> sums(static_cast<size_t>(x.size()));
  for (int64_t c = 0; c < x.size(); ++c) sums[static_cast<size_t>(c)] = x[c] + residual[c];
  const Real mean_square = assay::Dot(sums, sums) / Real(static_cast<double>(x.size()));
  const Real scale = assay::rsqrt(Real(mean_square + a.scalar("eps")));
  for (int64_t c = 0; c < x.size(); ++c) {
    const Real sum = sums[static_cast<size_t>(c)];
    a.out("s", r, c) = sum;
    a.out("y", r, c) = sum * scale * weight[c];
  }
}
