// SPDX-License-Identifier: Apache-2.0
#include <assay/draw.h>

#include <algorithm>
#include <cmath>
#include <vector>

// Segments of any length, none of them too, that cover all M entries; rows repeat.
void Inputs(assay::Draw& draw) {
  const int64_t entries = draw.axis("M"), segments = draw.axis("S");
  std::vector<int64_t> cuts{0, entries};
  while (static_cast<int64_t>(cuts.size()) < segments + 1) cuts.push_back(draw.random().Below(entries + 1));
  std::sort(cuts.begin(), cuts.end());
  auto begin = draw.tensor("begin");
  for (int64_t s = 0; s <= segments; ++s) begin.set(s, static_cast<double>(cuts[static_cast<size_t>(s)]));
  auto row = draw.tensor("row");
  for (int64_t i = 0; i < entries; ++i) row.set(i, static_cast<double>(draw.random().Below(draw.axis("R"))));
  // The first row sets the scale, as a norm would.
  const auto x = draw.tensor("x");
  double largest = 0;
  for (int64_t n = 0; n < draw.axis("N"); ++n) largest = std::max(largest, std::abs(x.get({0, n})));
  draw.set_scalar("gain", 1 / (1 + largest));
}
