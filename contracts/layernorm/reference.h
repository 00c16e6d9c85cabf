// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// LayerNorm of one row.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t r = slice.index<1>()[0];
  const auto x = a.row("x", r);
  const auto gain = a.row("gain");
  const auto bias = a.row("bias");
  const auto moments = assay::CentredMoments(x);
  const Real rstd = assay::rsqrt(Real(moments.variance + a.scalar("eps")));
  for (int64_t c = 0; c < x.size(); ++c) a.out("y", r, c) = (x[c] - moments.mean) * rstd * gain[c] + bias[c];
  if (a.has("mean")) a.out("mean", r) = moments.mean;
  if (a.has("rstd")) a.out("rstd", r) = rstd;
}
