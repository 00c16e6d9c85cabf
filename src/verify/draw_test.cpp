// SPDX-License-Identifier: Apache-2.0
#include "verify/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "contract/load.h"
#include "contract/values.h"

namespace assay {
namespace {

class Drawing : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "contracts/softmax_rows");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    contract_ = std::move(loaded).value();
    auto dense = DenseShape(contract_, {{"R", 64}, {"C", 40}});
    ASSERT_TRUE(dense.ok());
    shape_ = dense.value();
  }

  std::vector<std::byte> Draw(Values values, uint64_t seed, DrawnCall* drawn = nullptr) {
    std::vector<std::byte> bytes(64 * 40 * 4);
    auto call = DrawCall(contract_, shape_, values, Seed::FromNumber(seed), [&](size_t) { return std::span(bytes); });
    EXPECT_TRUE(call.ok());
    if (call.ok() && drawn != nullptr) *drawn = call.value();
    return bytes;
  }

  Contract contract_;
  Shape shape_;
};

TEST_F(Drawing, OneSeedIsOneCall) {
  for (const Values values : {Values::kFirst, Values::kMixed, Values::kPure, Values::kOneHot}) {
    SCOPED_TRACE(Name(values));
    EXPECT_EQ(Draw(values, 1), Draw(values, 1));
    EXPECT_NE(Draw(values, 1), Draw(values, 2));
  }
}

TEST_F(Drawing, SaysWhetherRoundingErrorsMayConspire) {
  DrawnCall first, one_hot;
  Draw(Values::kFirst, 1, &first);
  Draw(Values::kOneHot, 1, &one_hot);
  EXPECT_FALSE(first.structured);
  EXPECT_TRUE(one_hot.structured);
}

TEST_F(Drawing, OneHotRowsHaveASingleOne) {
  const std::vector<std::byte> bytes = Draw(Values::kOneHot, 3);
  for (int64_t row = 0; row < 64; ++row) {
    double sum = 0;
    for (int64_t c = 0; c < 40; ++c) {
      const double value = LoadElement(DType::kF32, bytes, row * 40 + c);
      EXPECT_TRUE(value == 0.0 || value == 1.0);
      sum += value;
    }
    EXPECT_EQ(sum, 1.0);
  }
}

TEST_F(Drawing, NanCallsAreNanThroughout) {
  std::vector<std::byte> bytes(64 * 40 * 4);
  ASSERT_TRUE(DrawNanCall(contract_, shape_, Seed::FromNumber(1), [&](size_t) { return std::span(bytes); }).ok());
  for (int64_t e = 0; e < 64 * 40; ++e) EXPECT_TRUE(std::isnan(LoadElement(DType::kF32, bytes, e)));
}

}  // namespace
}  // namespace assay
