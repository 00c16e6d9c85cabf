// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  (void)a;
  (void)slice;
}
