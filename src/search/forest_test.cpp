// SPDX-License-Identifier: Apache-2.0
#include "search/forest.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

TEST(Forest, LearnsAValleyAndAWord) {
  const std::vector<Scale> scales = {Scale::kOrdered, Scale::kWords, Scale::kOrdered};
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  Stream draws(Seed::FromNumber(1));
  const auto truth = [](double x, double word) { return std::abs(x - 6) + (word == 2 ? 5 : 0); };
  for (int i = 0; i < 200; ++i) {
    const auto x = static_cast<double>(draws.Below(10)), word = static_cast<double>(draws.Below(4));
    rows.push_back({x, word, static_cast<double>(draws.Below(50))});  // the last one says nothing
    targets.push_back(truth(x, word));
  }
  Stream stream(Seed::FromNumber(2));
  const Forest forest = Forest::Fit(scales, rows, targets, {}, stream);
  for (double x = 0; x < 10; ++x) {
    for (double word = 0; word < 4; ++word)
      EXPECT_NEAR(forest.At(std::vector<double>{x, word, 25}).mean, truth(x, word), 1.5) << x << " " << word;
  }
}

TEST(Forest, SpreadIsLargeWhereNothingIsKnown) {
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  for (int i = 0; i < 40; ++i) {
    rows.push_back({static_cast<double>(i < 20 ? i % 4 : 100 + i % 4)});
    targets.push_back(i < 20 ? 1 : 9);
  }
  Stream stream(Seed::FromNumber(3));
  const std::vector<Scale> scales = {Scale::kOrdered};
  const Forest forest = Forest::Fit(scales, rows, targets, {.trees = 60, .leaf = 2}, stream);
  EXPECT_NEAR(forest.At(std::vector<double>{2}).spread, 0, 1e-12);
  EXPECT_NEAR(forest.At(std::vector<double>{102}).mean, 9, 1e-12);
  EXPECT_GT(forest.At(std::vector<double>{50}).spread, 2);  // trees cut the gap at different places
}

TEST(Forest, IsTheSameForTheSameStreamAndBearsConstants) {
  const std::vector<Scale> scales = {Scale::kOrdered, Scale::kWords};
  const std::vector<std::vector<double>> rows = {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const std::vector<double> targets = {1, 2, 3, 4, 5};
  Stream one(Seed::FromNumber(4)), same(Seed::FromNumber(4));
  const Prediction a = Forest::Fit(scales, rows, targets, {}, one).At(std::vector<double>{1, 1});
  const Prediction b = Forest::Fit(scales, rows, targets, {}, same).At(std::vector<double>{1, 1});
  EXPECT_EQ(a.mean, 3);
  EXPECT_EQ(a.spread, 0);
  EXPECT_EQ(a.mean, b.mean);
  const Prediction alone =
      Forest::Fit(scales, {{7, 1}}, std::vector<double>{2.5}, {}, one).At(std::vector<double>{0, 0});
  EXPECT_EQ(alone.mean, 2.5);
}

}  // namespace
}  // namespace assay
