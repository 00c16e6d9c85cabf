// SPDX-License-Identifier: Apache-2.0
#include "verify/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "contract/given.h"
#include "contract/load.h"

namespace assay {
namespace {

using testing::HasSubstr;

class Collecting : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/toy/toy_top_k");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    contract_ = std::move(loaded).value();
    auto dense = DenseShape(contract_, {{"T", 2}, {"E", 3}, {"K", 2}});
    ASSERT_TRUE(dense.ok());
    shape_ = dense.value();
    answer_.slice_begin = {0};
    for (int64_t t = 0; t < 2; ++t) {
      for (int64_t e = 0; e < 3; ++e) Publish(t, e, static_cast<double>(t == 0 ? e : -e));
      for (int64_t k = 0; k < 2; ++k) answer_.outputs.push_back({Of("weight"), t * 2 + k, 0.5, 0.1});
      answer_.slice_begin.push_back(answer_.outputs.size());
    }
  }

  int32_t Of(const char* name) const {
    return static_cast<int32_t>(contract_.FindTensor(name) - contract_.tensors.data());
  }
  void Publish(int64_t token, int64_t key, double value) {
    answer_.published.push_back({"key", {token, key}, value, 0.25, false, false, false, static_cast<uint64_t>(token)});
  }
  Result<Collected> Run(std::optional<size_t> own = std::nullopt) const {
    return Collect(contract_, shape_, answer_, own);
  }

  Contract contract_;
  Shape shape_;
  OracleAnswer answer_;
};

TEST_F(Collecting, MakesIndicesOfPublishedKeys) {
  const auto collected = Run();
  ASSERT_TRUE(collected.ok()) << collected.error().message;
  ASSERT_EQ(collected.value().rows.size(), 2U);
  const RankedRow& second = collected.value().rows[1];
  EXPECT_EQ(second.slice, 1U);
  EXPECT_EQ(second.count, 2U);
  ASSERT_EQ(second.keys.size(), 3U);
  EXPECT_EQ(second.keys[2].bound, 0.25);
  const auto& elements = collected.value().elements;
  EXPECT_EQ(elements[second.first].offset, 2);
  EXPECT_EQ(elements[second.first].expected.value, 0.0) << "token 1 has falling keys";
  EXPECT_EQ(elements[second.first + 1].expected.value, 1.0);
  EXPECT_EQ(collected.value().begin, (std::vector<size_t>{0, 4, 8}));
}

TEST_F(Collecting, KeepsSlicesOfAnOutputsOwnApart) {
  OracleAnswer own;
  own.slice_begin = {0, 1};
  own.outputs.push_back({Of("count"), 2, 7.0, 0.0});
  const auto collected = Collect(contract_, shape_, own, static_cast<size_t>(Of("count")));
  ASSERT_TRUE(collected.ok()) << collected.error().message;
  ASSERT_EQ(collected.value().elements.size(), 1U);
  EXPECT_TRUE(collected.value().rows.empty());
  answer_.outputs.push_back({Of("count"), 2, 7.0, 0.0});
  ++answer_.slice_begin.back();
  EXPECT_EQ(Run().value().elements.size(), 8U) << "a count written in a token's call is not compared";
}

TEST_F(Collecting, KnowsWhatTheReferenceCouldNotSay) {
  answer_.outputs[0].ambiguous = true;
  answer_.outputs[1].excluded = true;
  answer_.published[0].ambiguous = true;
  answer_.published[1].excluded = true;
  answer_.published[2].exact = true;
  const auto collected = Run();
  ASSERT_TRUE(collected.ok()) << collected.error().message;
  const auto& elements = collected.value().elements;
  EXPECT_TRUE(elements[0].expected.no_information);
  EXPECT_TRUE(elements[1].expected.no_information);
  const std::vector<Key>& keys = collected.value().rows[0].keys;
  EXPECT_TRUE(std::isinf(keys[0].bound)) << "a key that rounding decides may have any rank";
  EXPECT_TRUE(std::isinf(keys[1].bound));
  EXPECT_EQ(keys[2].bound, 0.0);
  EXPECT_FALSE(collected.value().elements[collected.value().begin[1]].expected.no_information);
}

TEST_F(Collecting, PutsThePartsOfOneElementTogether) {
  const OracleOutput whole = answer_.outputs[0];
  answer_.outputs.insert(answer_.outputs.begin() + 1, 2, whole);
  answer_.outputs[1].part = 1;
  answer_.outputs[1].value = 7.0;
  answer_.outputs[1].bound = 3.0;
  answer_.outputs[2].part = 2;
  answer_.outputs[2].value = 0.25;
  for (size_t s = 1; s < answer_.slice_begin.size(); ++s) answer_.slice_begin[s] += 2;
  const auto collected = Run();
  ASSERT_TRUE(collected.ok()) << collected.error().message;
  EXPECT_EQ(collected.value().elements.size(), 8U) << "as many as without the parts";
  const ExpectedElement& expected = collected.value().elements[0].expected;
  EXPECT_EQ(expected.value, 0.5);
  EXPECT_EQ(expected.bound, 0.1);
  EXPECT_EQ(expected.other, 7.0);
  EXPECT_EQ(expected.scale, 3.0);
  EXPECT_EQ(expected.probability, 0.25);
}

TEST_F(Collecting, TakesKeysForAnIndexAndNotTheReferencesOwn) {
  const OracleOutput own{Of("index"), 0, 1.0, 0.0};
  answer_.outputs.insert(answer_.outputs.begin(), own);
  for (size_t s = 1; s < answer_.slice_begin.size(); ++s) ++answer_.slice_begin[s];
  const auto collected = Run();
  ASSERT_TRUE(collected.ok()) << collected.error().message;
  EXPECT_EQ(collected.value().elements.size(), 8U);
}

TEST_F(Collecting, RefusesKeysThatMakeNoRow) {
  const auto complaint = [&] {
    const auto collected = Run();
    return collected.ok() ? std::string() : collected.error().message;
  };
  const std::vector<OraclePublished> whole = answer_.published;
  answer_.published.pop_back();
  EXPECT_EQ(complaint(), "") << "a row may have fewer keys than another";
  answer_.published = whole;
  answer_.published[1].index[1] = 5;
  EXPECT_THAT(complaint(), HasSubstr("lacks or repeats key 1"));
  answer_.published = whole;
  answer_.published[0].index[1] = 1;
  EXPECT_THAT(complaint(), HasSubstr("lacks or repeats key 0"));
  answer_.published = whole;
  for (auto& p : answer_.published) p.index[0] = 9;
  EXPECT_THAT(complaint(), HasSubstr("has index 9 where 2 are"));
  answer_.published = whole;
  for (auto& p : answer_.published) p.index[0] = 2;
  EXPECT_THAT(complaint(), HasSubstr("has index 2 where 2 are")) << "one beyond the last";
  answer_.published = whole;
  for (auto& p : answer_.published) p.index.push_back(0);
  for (auto& p : answer_.published) p.index.push_back(0);
  EXPECT_THAT(complaint(), HasSubstr("4 indices"));
  answer_.published = whole;
  for (auto& p : answer_.published) p.name = "score";
  EXPECT_THAT(complaint(), HasSubstr("published in no call"));
}

TEST_F(Collecting, JudgesRowsByTheirKeys) {
  Answers answers;
  static_cast<Collected&>(answers) = Run().value();
  answers.slices = {0, 1};
  std::vector<double> numbers;
  for (const AnswerElement& element : answers.elements) numbers.push_back(element.expected.value);
  EXPECT_FALSE(JudgeNumbers(contract_, answers, numbers).finding.has_value());
  numbers[answers.rows[1].first] = 2;
  const Judgement judgement = JudgeNumbers(contract_, answers, numbers);
  ASSERT_TRUE(judgement.finding.has_value());
  EXPECT_EQ(judgement.finding->slice, 1);
  EXPECT_THAT(Describe(contract_, shape_, *judgement.finding), HasSubstr("index[1,0]: a better key left out: got 2"));
}

// What a candidate returned as NaN leaves a residual without a bound, and so would the rest of its system.
TEST(Residuals, AreNeverExcusedByTheAnswerTheyAreMadeOf) {
  const auto loaded = LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/toy/toy_triangular_solve");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  Contract contract = loaded.value();
  const auto shape = DenseShape(contract, {{"B", 1}, {"N", 1}});
  ASSERT_TRUE(shape.ok()) << shape.error().message;
  const auto x = static_cast<int32_t>(contract.FindTensor("x") - contract.tensors.data());
  OracleAnswer answer;
  answer.slice_begin = {0, 2};
  answer.outputs.resize(2);
  for (uint32_t part = 1; part <= 2; ++part) {
    OracleOutput& output = answer.outputs[part - 1];
    output.tensor = x;
    output.part = part;
    output.value = part == 1 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
    output.excluded = part == 1;
  }
  for (const bool propagates : {false, true}) {
    contract.policy.special_propagates = propagates;
    const auto collected = Collect(contract, shape.value(), answer, std::nullopt);
    ASSERT_TRUE(collected.ok()) << collected.error().message;
    ASSERT_EQ(collected.value().elements.size(), 1U);
    EXPECT_EQ(collected.value().elements[0].expected.no_information, propagates);
  }
}

TEST(Given, KnowsWhoWaitsForWhom) {
  const auto loaded = LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/toy/toy_top_k");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Contract& contract = loaded.value();
  EXPECT_TRUE(DependsOnCandidate(contract));
  EXPECT_TRUE(IsGiven(contract, *contract.FindTensor("index")));
  EXPECT_FALSE(IsGiven(contract, *contract.FindTensor("count")));
  EXPECT_EQ(GivenDepth(contract, *contract.FindTensor("index")), 0);
  EXPECT_EQ(GivenDepth(contract, *contract.FindTensor("count")), 1);
  EXPECT_TRUE(contract.FindTensor("count")->compare->own_slice);
  EXPECT_FALSE(contract.FindTensor("weight")->compare->own_slice);
  EXPECT_EQ(contract.slice, std::vector<std::string>{"T"});
}

}  // namespace
}  // namespace assay
