// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// Scale and codes of one row in one format. A code may come from its element over the scale or from `most` over the
// largest magnitude, so the reference takes the longer way: from the scale that was returned back to the range, and from
// there to the code.
template <class Real>
void Quantise(const assay::Args<Real>& a, int64_t r, const Real& range, double most, const char* scale,
              const char* codes) {
  a.out(scale, r) = range / Real(most);
  if (!a.has(codes)) return;
  const Real returned = a.given(scale, r);
  const Real inverse = Real(most) / Real(returned * Real(most));
  const auto x = a.row("x", r);
  for (int64_t c = 0; c < x.size(); ++c) a.out(codes, r, c) = x[c] * inverse;
}

// A scale is made for a range of 2^-100 at the least, so that a row of zeros has one and no code overflows.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t r = slice.index<1>()[0];
  const auto x = a.row("x", r);
  const Real largest = assay::Max(x.size(), [&](int64_t c) { return assay::abs(x[c]); });
  const Real range = assay::max(largest, Real(0x1p-100));
  Quantise(a, r, range, 127.0, "scale_i8", "codes_i8");
  Quantise(a, r, range, 448.0, "scale_e4m3", "codes_e4m3");
}
