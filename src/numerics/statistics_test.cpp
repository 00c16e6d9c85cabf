// SPDX-License-Identifier: Apache-2.0
#include "numerics/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Median, OfOddEvenAndNothing) {
  EXPECT_EQ(Median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median(std::vector<double>{7}), 7);
  EXPECT_TRUE(std::isnan(Median(std::vector<double>{})));
}

TEST(MedianStandardError, IgnoresOneWildGroup) {
  std::vector<double> values;
  for (int i = -8; i <= 8; ++i) values.push_back(0.01 * i);
  const double calm = MedianStandardError(values);
  EXPECT_NEAR(calm, 1.2533 * 1.4826 * 0.04 / std::sqrt(17.0), 1e-12);
  values.back() = 1e6;
  EXPECT_NEAR(MedianStandardError(values), calm, 0.3 * calm);
  EXPECT_EQ(MedianStandardError(std::vector<double>{1.0}), 0.0);
}

TEST(MedianInterval, KnowsHowManyValuesItNeeds) {
  struct Case {
    const char* name;
    int n;
    double alpha;
    double low, high;  // of the values 1 .. n
  };
  const Case cases[] = {
      {"one too few at 0.01", 7, 0.01, -kInf, kInf},   // 2/128 = 0.0156
      {"just enough at 0.01", 8, 0.01, 1, 8},          // 2/256 = 0.0078
      {"last that needs both ends", 11, 0.01, 1, 11},  // 2 * 12/2048 = 0.0117
      {"first that needs not", 12, 0.01, 2, 11},       // 2 * 13/4096 = 0.0063
      {"thirty", 30, 0.01, 8, 23},
      {"at 0.05", 6, 0.05, 1, 6},
      {"too few at 0.05", 5, 0.05, -kInf, kInf},
      {"none", 0, 0.05, -kInf, kInf},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<double> values;
    for (int i = c.n; i >= 1; --i) values.push_back(i);
    const OrderInterval interval = MedianInterval(values, c.alpha);
    EXPECT_EQ(interval.low, c.low);
    EXPECT_EQ(interval.high, c.high);
  }
}

TEST(GroupSequential, HasThePublishedBoundaries) {
  const SequentialDesign design = GroupSequential(0.01);
  const std::vector<SequentialLook> expected{{8, 8}, {14, 13}, {20, 17}, {30, 23}};
  EXPECT_EQ(design.looks, expected);
  EXPECT_NEAR(design.false_claims, 0.0071, 0.0001);
  EXPECT_EQ(GroupSequential(0.01 / 3).looks.front(), (SequentialLook{10, 10}));
}

// Counts all 2^20 sign patterns of the first three looks instead of convolving.
TEST(GroupSequential, AgreesWithCountingEveryPattern) {
  const SequentialLook looks[] = {{8, 8}, {14, 13}, {20, 17}};
  int64_t crossed = 0;
  for (uint32_t pattern = 0; pattern < 1U << 20; ++pattern) {
    crossed += std::any_of(std::begin(looks), std::end(looks), [pattern](const SequentialLook& look) {
      return std::popcount(pattern & ((1U << look.groups) - 1)) >= look.wins;
    });
  }
  EXPECT_NEAR(CrossingProbability(looks, 0.5), std::ldexp(static_cast<double>(crossed), -20), 1e-12);
}

TEST(GroupSequential, NeverSpendsMoreThanItsAlpha) {
  for (const double alpha : {0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.01 / 3, 0.002, 0.001, 1e-4, 1e-6}) {
    for (int looks = 1; looks <= 8; ++looks) {
      SCOPED_TRACE(std::to_string(alpha) + " at " + std::to_string(looks));
      const SequentialDesign design = GroupSequential(alpha, looks);
      ASSERT_FALSE(design.looks.empty());
      EXPECT_LE(CrossingProbability(design.looks, 0.5), alpha);
      EXPECT_NEAR(CrossingProbability(design.looks, 0.5), design.false_claims, 1e-12);
      // A null that wins less often is claimed less often.
      EXPECT_LT(CrossingProbability(design.looks, 0.4), CrossingProbability(design.looks, 0.5));
      // One win less at any single boundary would cost more than it may, or is no majority.
      for (const SequentialLook& look : design.looks) EXPECT_GT(2 * look.wins, look.groups);
    }
  }
  EXPECT_TRUE(GroupSequential(0.0).looks.empty());
  EXPECT_TRUE(GroupSequential(1.0).looks.empty());
}

TEST(GroupSequential, HasThePowerThatWasPromised) {
  const SequentialDesign design = GroupSequential(0.01);
  EXPECT_GE(CrossingProbability(design.looks, WinProbability(1.5, 0.0, 1.0)), 0.99);
  EXPECT_GE(CrossingProbability(design.looks, WinProbability(1.0, 0.0, 1.0)), 0.80);
  EXPECT_NEAR(ExpectedGroups(design.looks, 1.0), 8.0, 1e-9);
  EXPECT_NEAR(ExpectedGroups(design.looks, 0.0), 30.0, 1e-9);
  const double effect = ResolvableEffect(design, 0.01, 0.01, 0.95);
  EXPECT_NEAR(CrossingProbability(design.looks, WinProbability(effect, 0.01, 0.01)), 0.95, 1e-6);
  EXPECT_EQ(WinProbability(0.02, 0.01, 0.0), 1.0);
  EXPECT_EQ(WinProbability(0.01, 0.01, 0.0), 0.0);
}

TEST(RareLosses, AgreesWithCountingAndNeverSpendsMoreThanItsAlpha) {
  const SequentialDesign design = RareLosses(0.1, 0.01);
  const std::vector<SequentialLook> expected{{51, 51}, {78, 77}, {96, 94}, {112, 109}, {127, 123}};
  EXPECT_EQ(design.looks, expected);
  // The first look alone: no loss at all in so many, at half of alpha.
  EXPECT_LE(std::pow(0.9, 51), 0.005);
  EXPECT_GT(std::pow(0.9, 50), 0.005);
  for (const double share : {0.02, 0.1, 0.3}) {
    for (const double alpha : {0.05, 0.01, 0.001}) {
      for (int looks = 1; looks <= 6; ++looks) {
        SCOPED_TRACE(std::to_string(share) + " " + std::to_string(alpha) + " at " + std::to_string(looks));
        const SequentialDesign one = RareLosses(share, alpha, looks);
        ASSERT_EQ(one.looks.size(), static_cast<size_t>(looks));
        EXPECT_NEAR(CrossingProbability(one.looks, 1 - share), one.false_claims, 1e-12);
        EXPECT_LE(one.false_claims, alpha);
        EXPECT_LT(CrossingProbability(one.looks, 1 - 1.2 * share), one.false_claims);
      }
    }
  }
  // Who loses one in a hundred passes.
  EXPECT_GE(CrossingProbability(design.looks, 0.99), 0.99);
  EXPECT_TRUE(RareLosses(0.0, 0.01).looks.empty());
  EXPECT_TRUE(RareLosses(0.1, 0.0).looks.empty());
}

RuleOutcome Feed(DecisionRule& rule, const std::string& groups) {
  // W wins beyond the margin, w is faster but not beyond it, L loses beyond it, N is no number.
  for (const char group : groups) {
    rule.Add(group == 'W' ? 0.05 : group == 'w' ? 0.01 : group == 'L' ? -0.05 : std::nan(""));
  }
  return rule.outcome();
}

TEST(DecisionRule, DecidesAtItsBoundariesAndNowhereElse) {
  struct Case {
    const char* name;
    std::string groups;
    RuleOutcome outcome;
  };
  const auto w = [](int n) { return std::string(static_cast<size_t>(n), 'W'); };
  const auto l = [](int n) { return std::string(static_cast<size_t>(n), 'L'); };
  const Case cases[] = {
      {"seven wins are no look", w(7), RuleOutcome::kOpen},
      {"eight of eight", w(8), RuleOutcome::kFaster},
      {"seven of eight", w(7) + "L", RuleOutcome::kOpen},
      {"a win within the margin is none", w(7) + "w", RuleOutcome::kOpen},
      {"thirteen of fourteen", w(7) + "L" + w(6), RuleOutcome::kFaster},
      {"twelve of fourteen", w(7) + "LL" + w(5), RuleOutcome::kOpen},
      {"seventeen of twenty", w(6) + l(3) + w(11), RuleOutcome::kFaster},
      {"sixteen of twenty", w(6) + l(4) + w(10), RuleOutcome::kOpen},
      {"twenty-three of thirty", l(7) + w(23), RuleOutcome::kFaster},
      {"twenty-two of thirty", l(7) + "WL" + w(21), RuleOutcome::kUndecided},
      {"eight losses", l(8), RuleOutcome::kSlower},
      {"what comes after a decision is not counted", w(8) + l(22), RuleOutcome::kFaster},
      {"no numbers", std::string(30, 'N'), RuleOutcome::kUndecided},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    DecisionRule rule(GroupSequential(0.01), 0.02);
    EXPECT_EQ(Feed(rule, c.groups), c.outcome);
  }
}

TEST(DecisionRule, SaysHowFarTheNextLookIs) {
  DecisionRule rule(GroupSequential(0.01), 0.0);
  EXPECT_EQ(rule.GroupsToNextLook(), 8);
  Feed(rule, "WWLL");
  EXPECT_EQ(rule.GroupsToNextLook(), 4);
  Feed(rule, "WWLL");
  EXPECT_EQ(rule.GroupsToNextLook(), 6);
  DecisionRule none(GroupSequential(0.0), 0.0);
  EXPECT_EQ(none.Add(1.0), RuleOutcome::kUndecided);
  EXPECT_EQ(none.GroupsToNextLook(), 0);
}

TEST(Futile, AtThreeMoreLossesThanWins) {
  EXPECT_FALSE(Futile(0, 2));
  EXPECT_TRUE(Futile(0, 3));
  EXPECT_FALSE(Futile(5, 7));
  EXPECT_TRUE(Futile(5, 8));
}

TEST(EProcess, NeedsEightWinsInARow) {
  EProcess process;
  for (int i = 0; i < 7; ++i) process.Add(true);
  EXPECT_FALSE(process.Rejects(0.01));
  process.Add(true);
  EXPECT_TRUE(process.Rejects(0.01));
  process.Add(false);
  EXPECT_TRUE(process.Rejects(0.01)) << "what was decided stays decided";
}

// Ville's inequality, by following every path: capital reaches 100 in less than one of 100.
TEST(EProcess, KeepsItsPromiseOverAllPaths) {
  struct Path {
    EProcess process;
    double probability;
  };
  std::vector<Path> alive{{EProcess{}, 1.0}};
  double rejected = 0.0;
  // Paths with equal numbers of wins have equal capital: merge them.
  for (int n = 1; n <= 200; ++n) {
    std::vector<Path> next(static_cast<size_t>(n) + 1, Path{EProcess{}, 0.0});
    for (size_t wins = 0; wins < alive.size(); ++wins) {
      for (const bool win : {false, true}) {
        Path path = alive[wins];
        path.probability *= 0.5;
        path.process.Add(win);
        Path& target = next[wins + (win ? 1 : 0)];
        if (path.process.value() >= 100.0) {
          rejected += path.probability;
        } else if (path.probability > 0.0) {
          target = {path.process, target.probability + path.probability};
        }
      }
    }
    alive = std::move(next);
  }
  EXPECT_LE(rejected, 0.01);
  EXPECT_GT(rejected, 0.003);
}

TEST(ProbabilisticGrowth, OfOneElementAndOfMany) {
  EXPECT_NEAR(ProbabilisticGrowth(1, 1), std::sqrt(2 * std::log(2e6)), 1e-12);
  EXPECT_NEAR(ProbabilisticGrowth(2e6, 1024), 8.49, 0.05);
}

}  // namespace
}  // namespace assay
