// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// One segment.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t segment = slice.index<1>()[0];
  const int64_t first = a.integer("begin", segment), count = a.integer("begin", segment + 1) - first;
  const Real gain = a.scalar("gain");
  for (int64_t n = 0; n < a.axis("N"); ++n) {
    const Real sum = assay::Sum(count, [&](int64_t i) { return a.at("x", a.integer("row", first + i), n); });
    a.out("y", segment, n) = gain * sum;
  }
}
