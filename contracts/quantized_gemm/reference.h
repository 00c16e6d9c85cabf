// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One element. Up to the scale everything is integer and exact; what is rounded is the scaling, so the value that is
// handed over is the one before rounding to a code, zero point included.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const auto [m, n] = slice.index<2>();
  const auto w = a.row("w", n);
  Real sum = assay::Dot(a.row("a", m), w) - a.scalar("azero") * assay::Sum(w);
  if (a.has("bias")) sum = sum + a.at("bias", n);
  const Real factor = a.scalar("ascale") * a.at("wscale", n) / a.scalar("oscale");
  a.out("out", m, n) = sum * factor + a.scalar("ozero");
}
