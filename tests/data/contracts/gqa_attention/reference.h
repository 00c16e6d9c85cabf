// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// Causal grouped-query attention, one slice (B, T, H) at a time.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const auto [b, t, h] = slice.index<3>();               // in the order of the contract's `slice`
  const int64_t group = a.axis("H") / a.axis("KV"), D = a.axis("D");
  const auto q = a.row("q", b, t, h);                    // last dimension; name and stride resolved once
  const Real scale = a.scalar("scale");
  assay::SoftmaxMean<Real> out(D, t + 1);                // sum of w*v over sum of w, order unspecified
  for (int64_t j = 0; j <= t; ++j)
    out.add(assay::Dot(q, a.row("k", b, j, h / group)) * scale, a.row("v", b, j, h / group));
  for (int64_t d = 0; d < D; ++d) a.out("o", b, t, h, d) = out.value(d);
  if (a.has("lse")) a.out("lse", b, t, h) = out.log_sum_exp();
}
