// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// Loss and gradient of one row. The loss is the logarithm of the sum of exponentials less the target's logit, as the
// field computes it; the gradient takes the maximum off first, as any kernel in a finite format must.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t t = slice.index<1>()[0], target = a.integer("targets", t);
  const auto x = a.row("logits", t);
  if (target < 0 || target == a.integer("ignore_index")) {
    for (int64_t v = 0; v < x.size(); ++v) a.out("logits", t, v) = Real(0.0);
    a.out("loss", t) = Real(0.0);
    return;
  }
  const auto sum = assay::SumExp(x);
  const Real scale = a.scalar("scale");
  for (int64_t v = 0; v < x.size(); ++v) {
    const Real p = assay::exp(Real(x[v] - sum.top)) / sum.total;
    a.out("logits", t, v) = (v == target ? Real(p - Real(1.0)) : p) * scale;
  }
  a.out("loss", t) = sum.log - x[target];
}
