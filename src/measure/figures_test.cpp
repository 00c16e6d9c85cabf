// SPDX-License-Identifier: Apache-2.0
#include "measure/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay {
namespace {

RawUnit Unit(int group, const char* arm, double ms, int calls = 1, bool gated = false, bool redrawn = false) {
  return {.group = group,
          .arm = arm,
          .workload = "w",
          .calls = calls,
          .wall_ns = static_cast<int64_t>(ms * 1e6 * calls) + 1000,
          .null_ns = 1000,
          .cpu_ns = 0,
          .gated = gated,
          .redrawn = redrawn,
          .census = false};
}

TEST(Figures, AUnitIsWallMinusNullOverCallsAndTheMedianRunsOverUnits) {
  const std::vector<RawUnit> units = {Unit(0, "a", 2, 5), Unit(0, "a", 90, 5), Unit(0, "a", 3, 5), Unit(1, "a", 5, 5)};
  const Figures figures(units);
  ASSERT_NE(figures.Find(0, "w", "a"), nullptr);
  EXPECT_NEAR(figures.Find(0, "w", "a")->Seconds(), 3e-3, 1e-9);
  EXPECT_NEAR(*figures.Seconds("w", "a"), 4e-3, 1e-9);
  EXPECT_EQ(figures.Find(0, "w", "b"), nullptr);
  EXPECT_FALSE(figures.Seconds("w", "b"));
}

TEST(OwnShare, IsThePartOfAnInSituUnitThatItsKernelTook) {
  std::vector<RawUnit> units = {Unit(0, "a", 4), Unit(0, "a", 8), Unit(0, "a", 4), Unit(1, "a", 40, 1, false, true)};
  EXPECT_EQ(OwnShare(units, "w", "a"), 1);  // nobody ran beside it
  for (RawUnit& unit : units) unit.own_ns = 1'000'000;
  EXPECT_EQ(OwnShare(units, "w", "a"), 0.25);
  for (RawUnit& unit : units) unit.own_ns = -500;  // less than its null unit
  EXPECT_EQ(OwnShare(units, "w", "a"), 0);
}

TEST(Figures, RedrawnGroupsAreCountedAndLeftOut) {
  const std::vector<RawUnit> units = {Unit(0, "a", 2, 1, false, true), Unit(0, "b", 2, 1, false, true), Unit(1, "a", 4),
                                      Unit(1, "b", 2)};
  const Figures figures(units);
  EXPECT_EQ(figures.redrawn(), 1);
  ASSERT_EQ(figures.LogRatios("w", "a", "b").size(), 1U);
  EXPECT_NEAR(figures.LogRatios("w", "a", "b")[0], std::log(2), 1e-6);
}

TEST(Figures, AKernelThatTakesNoTimeStillHasALogarithm) {
  const std::vector<RawUnit> units = {
      {.group = 0, .arm = "a", .workload = "w", .calls = 1, .wall_ns = 10, .null_ns = 50}};
  EXPECT_GT(Figures(units).Find(0, "w", "a")->Seconds(), 0);
}

TEST(LogRatio, PairsUnitsSoThatDriftCancels) {
  // Both slow down by half within the group; b is always 10 % slower than a.
  ArmFigures a, b;
  for (const double drift : {1.0, 1.1, 1.2, 1.3, 1.4, 1.5}) {
    a.shared.push_back(drift);
    b.shared.push_back(1.1 * drift);
  }
  EXPECT_NEAR(LogRatio(b, a), std::log(1.1), 1e-12);
  // One unit of b against six of a: the ratio of the medians.
  EXPECT_NEAR(LogRatio({.shared = {2.5}, .gated = {}}, a), std::log(2.5 / 1.25), 1e-12);
}

TEST(ArmFigures, TheSlowerOfSharedAndGatedCounts) {
  const struct {
    const char* name;
    ArmFigures figures;
    double seconds;
  } cases[] = {
      {"only shared", {{1, 1, 1}, {}}, 1},
      {"gated is slower, clearly", {{1, 1, 1}, {1.2, 1.2, 1.2, 1.21}}, 1.2},
      {"gated is slower, within its noise", {{1, 1, 1}, {0.8, 1.3, 1.02, 0.7}}, 1},
      {"gated is faster", {{1, 1, 1}, {0.9, 0.9, 0.9}}, 1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_NEAR(c.figures.Seconds(), c.seconds, 1e-9);
  }
}

TEST(GatedSlower, AsksForMoreThanTheTrustedArmPays) {
  const auto of = [](double shared, double gated) {
    return ArmFigures{std::vector<double>(6, shared), std::vector<double>(12, gated)};
  };
  const struct {
    const char* name;
    ArmFigures arm, trusted;
    bool slower;
  } cases[] = {
      {"calls that overlap in pairs", of(1e-3, 2e-3), of(1e-3, 1.02e-3), true},
      {"an honest first touch, like the trusted arm's", of(300e-6, 400e-6), of(500e-6, 600e-6), false},
      {"within 15 % and a wake-up", of(1e-3, 1.2e-3), of(1e-3, 1e-3), false},
      {"beyond 15 % and a wake-up", of(1e-3, 1.22e-3), of(1e-3, 1e-3), true},
      {"nothing gated", {std::vector<double>(6, 1e-3), {}}, of(1e-3, 1e-3), false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(GatedSlower(c.arm, &c.trusted), c.slower);
  }
}

TEST(PrepareSeconds, AreOfEachArmThatPacksAndOfKeptGroups) {
  std::vector<RawUnit> units(5);
  const struct {
    const char* arm;
    int calls;
    int64_t prepare_ns;
    bool redrawn;
  } rows[] = {
      {"packs", 2, 4000, false},   {"packs", 2, 8000, false}, {"packs", 1, 3000, false},
      {"packs", 1, 900'000, true}, {"does not", 1, 0, false},
  };
  for (size_t i = 0; i < units.size(); ++i) {
    units[i].workload = "w";
    units[i].arm = rows[i].arm;
    units[i].calls = rows[i].calls;
    units[i].prepare_ns = rows[i].prepare_ns;
    units[i].redrawn = rows[i].redrawn;
  }
  const std::map<std::string, double> seconds = PrepareSeconds(units, "w");
  ASSERT_EQ(seconds.size(), 1U);
  EXPECT_DOUBLE_EQ(seconds.at("packs"), 3e-6);
  EXPECT_TRUE(PrepareSeconds(units, "another").empty());
}

}  // namespace
}  // namespace assay
