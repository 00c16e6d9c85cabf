// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// The keys of a row are its elements themselves.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t r = slice.index<1>()[0];
  const auto x = a.row("x", r);
  for (int64_t c = 0; c < x.size(); ++c) a.publish("key", r, c, x[c]);
  if (a.has("value")) a.out("value", r) = assay::Max(x);
}
