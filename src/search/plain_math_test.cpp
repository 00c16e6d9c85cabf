// SPDX-License-Identifier: Apache-2.0
#include "search/plain_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace assay {
namespace {

TEST(PlainMath, AgreesWithTheLibrary) {
  for (double x = 1e-12; x < 1e12; x *= 1.0137) {
    EXPECT_NEAR(PlainLog(x), std::log(x), 1e-14 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  for (double x = -690; x < 690; x += 0.731) EXPECT_NEAR(PlainExp(x) / std::exp(x), 1, 1e-14) << x;
  for (double z = -6; z < 6; z += 0.0137) {
    EXPECT_NEAR(NormalBelow(z), 0.5 * std::erfc(-z / std::sqrt(2.0)), 2e-7) << z;
    EXPECT_NEAR(NormalDensity(z), std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)), 1e-14) << z;
  }
  EXPECT_EQ(PlainLog(1), 0);
  EXPECT_EQ(PlainExp(0), 1);
  EXPECT_EQ(PlainExp(-1e9), 0);
}

// The bits that every machine has to find, for proposals hang on them.
TEST(PlainMath, IsTheSameEverywhere) {
  uint64_t bits = 0;
  for (int i = 1; i <= 1000; ++i) {
    const double x = i * 0x1.0cp-3;
    for (const double value : {PlainLog(x), PlainExp(-x), NormalBelow(x - 60)})
      bits = std::rotl(bits, 7) ^ std::bit_cast<uint64_t>(value);
  }
  EXPECT_EQ(bits, 10354509035377416237ULL);
}

}  // namespace
}  // namespace assay
