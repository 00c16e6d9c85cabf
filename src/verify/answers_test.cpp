// SPDX-License-Identifier: Apache-2.0
#include "verify/answers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "contract/load.h"
#include "verify/audit.h"

namespace assay {
namespace {

TEST(DrawSlices, TakesAllOfFewAndADrawOfMany) {
  Stream stream(Seed::FromNumber(1));
  EXPECT_EQ(DrawSlices(5, 8, stream), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(DrawSlices(0, 8, stream).empty());
  const auto some = DrawSlices(1000, 16, stream);
  ASSERT_EQ(some.size(), 16U);
  EXPECT_EQ(some.front(), 0);
  EXPECT_EQ(some.back(), 999);
  EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
  EXPECT_NE(some, DrawSlices(1000, 16, stream));
}

class Judging : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "contracts/softmax_rows");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    contract_ = std::move(loaded).value();
    auto dense = DenseShape(contract_, {{"R", 4}, {"C", 50}});
    ASSERT_TRUE(dense.ok());
    shape_ = dense.value();
    // Four rows of 1, each row a slice, with a bound of a thousandth.
    for (int64_t row = 0; row < 4; ++row) {
      answers_.slices.push_back(row);
      answers_.begin.push_back(answers_.elements.size());
      for (int64_t c = 0; c < 50; ++c) answers_.elements.push_back({1, row * 50 + c, {1.0, 1e-3, false, false}});
    }
    answers_.begin.push_back(answers_.elements.size());
    numbers_.assign(200, 1.0);
  }

  Contract contract_;
  Shape shape_;
  Answers answers_;
  std::vector<double> numbers_;
};

TEST_F(Judging, AcceptsWhatLiesWithin) {
  numbers_[77] = 1.0009;
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  EXPECT_FALSE(judgement.finding.has_value());
  EXPECT_EQ(judgement.elements, 200);
  EXPECT_NEAR(judgement.worst, 0.9, 0.01);
}

TEST_F(Judging, NamesTheWorstElement) {
  numbers_[77] = 1.002;
  numbers_[120] = 1.5;
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  ASSERT_TRUE(judgement.finding.has_value());
  EXPECT_EQ(judgement.finding->offset, 120);
  EXPECT_EQ(judgement.finding->slice, 2);
  EXPECT_GT(judgement.worst, 400);
  const std::string text = Describe(contract_, shape_, *judgement.finding);
  EXPECT_NE(text.find("y[2,20]: got 1.5, expected 1"), std::string::npos) << text;
}

TEST_F(Judging, NanIsAsFarOffAsAnythingCanBe) {
  numbers_[0] = std::numeric_limits<double>::quiet_NaN();
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  ASSERT_TRUE(judgement.finding.has_value());
  EXPECT_TRUE(std::isinf(judgement.worst));
}

TEST_F(Judging, ReadsTheBytesOfAnAnswer) {
  std::vector<float> y(200, 1.0F);
  const std::vector<std::span<const std::byte>> tensors{{}, std::as_bytes(std::span(y))};
  EXPECT_FALSE(Judge(contract_, answers_, tensors).finding.has_value());
  y[199] = 0;
  EXPECT_TRUE(Judge(contract_, answers_, tensors).finding.has_value());
}

TEST_F(Judging, ExcludedElementsAreCountedAndNeverWrong) {
  answers_.elements[3].expected.no_information = true;
  numbers_[3] = 99;
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  EXPECT_FALSE(judgement.finding.has_value());
  EXPECT_EQ(judgement.excluded, 1);
}

TEST(SkippedShareCaught, FollowsFromTheNumberOfSlices) {
  EXPECT_EQ(SkippedShareCaught(0), 1.0);
  EXPECT_NEAR(SkippedShareCaught(2000), 0.0023, 0.0001);
  // Whoever skips that share survives so many draws once in a hundred.
  EXPECT_NEAR(std::pow(1.0 - SkippedShareCaught(500), 500), 0.01, 1e-6);
}

}  // namespace
}  // namespace assay
