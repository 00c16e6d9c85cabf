// SPDX-License-Identifier: Apache-2.0
#include "verify/reference.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "contract/load.h"
#include "verify/mutants.h"
#include "verify/situation.h"

namespace assay {
namespace {

// Codes that follow a scale are produced by one evaluation, which by itself does not know that a value
// between two codes is there by rounding alone, so that either code is right.
TEST(Produce, AFaultIsToldWhatIsCertain) {
  const std::filesystem::path build = ASSAY_BUILD_DIR;
  auto contract = LoadContract(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/toy/toy_dynamic_codes");
  ASSERT_TRUE(contract.ok()) << contract.error().message;
  auto reference = Reference::Start(contract.value(), build / "test-cache");
  ASSERT_TRUE(reference.ok()) << reference.error().message;
  const auto drawn = DrawSituations(contract.value(), *reference.value(), Seed::FromNumber(1));
  ASSERT_TRUE(drawn.ok()) << drawn.error().message;
  const Situation& normal = drawn.value().front();
  size_t codes = 0, bounded = 0, called = 0;
  const NumbersFault counts = [&](const Answers& answers, std::vector<double>& numbers) {
    ++called;
    EXPECT_EQ(answers.elements.size(), numbers.size());
    for (const AnswerElement& element : answers.elements) {
      if (contract.value().tensors[element.tensor].name != "q") continue;
      ++codes;
      bounded += element.expected.exact || element.expected.bound > 0.0 ? 1 : 0;
    }
  };
  const auto outputs = reference.value()->Produce(normal.call, HonestVariants()[0], counts);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(called, 2U);  // the scales, then the codes
  EXPECT_GT(codes, 0U);
  EXPECT_EQ(bounded, codes);
}

}  // namespace
}  // namespace assay
