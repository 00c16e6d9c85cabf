// SPDX-License-Identifier: Apache-2.0
#include <assay/reference.h>

// All heads of one token. Rows of q and k hold what the call was given; `out` is what it should leave there.
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t t = slice.index<1>()[0], half = a.axis("D") / 2;
  const int64_t position = a.integer("positions", t);
  const auto cosines = a.row("cosines", position);
  const auto sines = a.row("sines", position);
  const auto turn = [&](const char* name, int64_t heads) {
    for (int64_t h = 0; h < heads; ++h) {
      const auto x = a.row(name, t, h);
      for (int64_t i = 0; i < half; ++i) {
        a.out(name, t, h, i) = x[i] * cosines[i] - x[i + half] * sines[i];
        a.out(name, t, h, i + half) = x[i + half] * cosines[i] + x[i] * sines[i];
      }
    }
  };
  turn("q", a.axis("H"));
  turn("k", a.axis("KV"));
}
