// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/reference.h>

// One element of C: the slice is a single dot product, so that it stays cheap at every shape.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const auto [m, n] = slice.index<2>();
  a.out("c", m, n) = assay::Dot(a.row("a", m), a.row("b", n));
}
