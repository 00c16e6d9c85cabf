// SPDX-License-Identifier: Apache-2.0
#include "verify/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// The ensemble is asked for the first ones; the same rows each time would be an invitation.
TEST(DrawSlices, PutsADrawInFront) {
  Stream stream(Seed::FromNumber(2));
  std::vector<int64_t> all = AllSlices(500), sorted;
  EXPECT_EQ(SomeFirst(all, 500, stream), all);
  double mean = 0;
  for (int draw = 0; draw < 100; ++draw) {
    sorted = SomeFirst(all, 32, stream);
    EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.begin() + 32));
    EXPECT_TRUE(std::is_sorted(sorted.begin() + 32, sorted.end()));
    for (int i = 0; i < 32; ++i) mean += static_cast<double>(sorted[static_cast<size_t>(i)]) / 3200;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, all);
  }
  EXPECT_NEAR(mean, 249.5, 6 * 500 / std::sqrt(12.0 * 3200)) << "from all of them alike";
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

// A row that was given its neighbour's answer is right when both are rows of one constant.
TEST_F(Judging, SlicesThatHoldTheSameProveNothingOfEachOther) {
  answers_.parts = {{std::nullopt, answers_.slices}};
  for (size_t i = 0; i < answers_.elements.size(); ++i) answers_.elements[i].expected.value = static_cast<double>(i);
  for (size_t i = 0; i < 50; ++i) answers_.elements[100 + i].expected.value = static_cast<double>(i);  // row 2 is row 0
  std::vector<uint64_t> prints = PrintsOf(contract_, answers_);
  ASSERT_EQ(prints.size(), 4U);
  EXPECT_EQ(SharedAnswers(answers_.slices, prints), (std::vector<int64_t>{0, 2}));
  // What the output cannot hold makes no difference, its last bit does.
  answers_.elements[149].expected.value *= 1 + 1e-12;
  EXPECT_EQ(PrintsOf(contract_, answers_), prints);
  answers_.elements[149].expected.value += 1;
  prints = PrintsOf(contract_, answers_);
  EXPECT_TRUE(SharedAnswers(answers_.slices, prints).empty());
  // The same numbers in another order are not the same answer.
  std::swap(answers_.elements[50].expected.value, answers_.elements[51].expected.value);
  EXPECT_NE(PrintsOf(contract_, answers_)[1], prints[1]);
}

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

TEST_F(Judging, TheWorstIsNamedAlsoWhereALesserOneFollows) {
  numbers_[77] = 1.5;
  numbers_[120] = 1.002;
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  ASSERT_TRUE(judgement.finding.has_value());
  EXPECT_EQ(judgement.finding->offset, 77);
}

// Each element lies well within its own limit; that all of them are off together is not what honest orders do.
TEST_F(Judging, RefusesWhatNoSingleElementShows) {
  answers_.orders = 1;
  answers_.honest_slices = answers_.slices.size();
  answers_.honest.assign(200, 1.0 + 1e-6);
  EXPECT_FALSE(JudgeNumbers(contract_, answers_, numbers_).finding.has_value());
  numbers_.assign(200, 1.0 + 5e-4);
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  ASSERT_TRUE(judgement.finding.has_value());
  EXPECT_EQ(judgement.finding->rule, "rms of one slice");
  const std::string text = Describe(contract_, shape_, *judgement.finding);
  EXPECT_NE(text.find("rms of one slice is"), std::string::npos) << text;
  // A wrong element is the plainer thing to say.
  numbers_[3] = 1.5;
  EXPECT_EQ(JudgeNumbers(contract_, answers_, numbers_).finding->offset, 3);
}

TEST_F(Judging, RefusesWhatOthersCannotBeComputedFrom) {
  answers_.unusable = Finding{1, 8, 0, 9, 1, 8, 0, "element"};
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  ASSERT_TRUE(judgement.finding.has_value());
  EXPECT_EQ(judgement.finding->offset, 8);
  EXPECT_TRUE(std::isinf(judgement.worst));
}

TEST_F(Judging, TakesNumbersAsTheOutputWouldHoldThem) {
  answers_.elements[5].expected = {1.0, 0.0, true, false};
  numbers_[5] = 1.0 + 1e-9;
  EXPECT_FALSE(JudgeNumbers(contract_, answers_, numbers_).finding.has_value());
  numbers_[5] = 1.0 + 1e-6;
  EXPECT_TRUE(JudgeNumbers(contract_, answers_, numbers_).finding.has_value());
}

// Honest kernels attain the bound of a few roundings; that says nothing about how good an estimate is.
TEST_F(Judging, ShortChainsDoNotSpeakForEstimates) {
  numbers_[77] = 1.0009;
  EXPECT_NEAR(JudgeNumbers(contract_, answers_, numbers_).worst_estimated, 0.9, 0.01);
  answers_.elements[77].expected.bound = 2e-6;
  numbers_[77] = 1.0 + 1.9e-6;
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  EXPECT_GT(judgement.worst, 0.8);
  EXPECT_EQ(judgement.worst_estimated, 0.0);
}

TEST_F(Judging, NanIsAsFarOffAsAnythingCanBe) {
  numbers_[0] = std::numeric_limits<double>::quiet_NaN();
  const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
  ASSERT_TRUE(judgement.finding.has_value());
  EXPECT_TRUE(std::isinf(judgement.worst));
}

TEST_F(Judging, InfinityIsWrongAlsoWhereTheBoundSaysNothing) {
  for (const double got : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    answers_.elements[0].expected = {std::numeric_limits<double>::infinity(), got, false, false};
    numbers_[0] = -1.0;
    const Judgement judgement = JudgeNumbers(contract_, answers_, numbers_);
    ASSERT_TRUE(judgement.finding.has_value()) << got;
    EXPECT_TRUE(std::isinf(judgement.worst));
  }
}

// What a candidate left as NaN has a residual of NaN, which no comparison calls too large.
TEST_F(Judging, AResidualOfNanIsWrong) {
  auto loaded = LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/toy/toy_triangular_solve");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Contract& solve = loaded.value();
  const auto x = std::ranges::find_if(solve.tensors, [](const Tensor& tensor) {
    return tensor.compare && tensor.compare->kind == CompareClass::kSolve;
  });
  ASSERT_TRUE(x != solve.tensors.end());
  Answers answers;
  answers.slices = {0};
  answers.begin = {0, 1};
  answers.elements.push_back({static_cast<size_t>(x - solve.tensors.begin()), 0, {}});
  ExpectedElement& expected = answers.elements[0].expected;
  expected.scale = 1.0;
  expected.probability = 4;
  const std::vector<double> numbers{1.0};
  expected.other = 1e-9;
  EXPECT_FALSE(JudgeNumbers(solve, answers, numbers).finding.has_value());
  expected.other = std::numeric_limits<double>::quiet_NaN();
  const Judgement judgement = JudgeNumbers(solve, answers, numbers);
  ASSERT_TRUE(judgement.finding.has_value());
  EXPECT_EQ(judgement.finding->rule, "residual");
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
  EXPECT_LE(judgement.worst, 1.0);
}

TEST(SkippedShareCaught, FollowsFromTheNumberOfSlices) {
  EXPECT_EQ(SkippedShareCaught(0), 1.0);
  EXPECT_NEAR(SkippedShareCaught(2000), 0.0023, 0.0001);
  // Whoever skips that share survives so many draws once in a hundred.
  EXPECT_NEAR(std::pow(1.0 - SkippedShareCaught(500), 500), 0.01, 1e-6);
}

}  // namespace
}  // namespace assay
