// SPDX-License-Identifier: Apache-2.0
#include <assay/draw.h>

#include <algorithm>
#include <cmath>

// The output's scale as a calibration would choose it: most sums fit the codes, some saturate.
void Inputs(assay::Draw& draw) {
  const auto scales = draw.tensor("wscale");
  double largest = 0;
  for (int64_t n = 0; n < scales.size(); ++n) largest = std::max(largest, scales.get(n));
  const double spread = std::sqrt(static_cast<double>(draw.axis("K"))) * 74 * 73;  // of one sum of products
  draw.set_scalar("oscale", draw.scalar("ascale") * largest * spread * draw.random().Uniform(0.01, 0.05) + 1e-9);
}
