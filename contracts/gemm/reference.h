// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/reference.h>

// One element of C: the slice is a single dot product, so that it stays cheap at every shape.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const auto [m, n] = slice.index<2>();
  const auto left = a.axis("TA") == 1 ? a.row("a", assay::all, m) : a.row("a", m);
  const auto right = a.axis("TB") == 1 ? a.row("b", n) : a.row("b", assay::all, n);
  a.out("c", m, n) = assay::Dot(left, right);
}
