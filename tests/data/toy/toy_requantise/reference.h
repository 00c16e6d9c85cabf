// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One block, unrounded: the contract says how a code is made of it.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t block = slice.index<1>()[0];
  const auto x = a.row("x", block);
  const Real scale = a.scalar("scale"), zero = a.scalar("zero");
  for (int64_t i = 0; i < x.size(); ++i) a.out("y", block, i) = x[i] * scale + zero;
}
