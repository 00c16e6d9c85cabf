// SPDX-License-Identifier: Apache-2.0
#include "record/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay {
namespace {

RawUnit Unit() {
  RawUnit unit;
  unit.group = 3;
  unit.arm = "a";
  unit.workload = "w";
  unit.calls = 4;
  unit.wall_ns = 5'000'000'000;
  unit.null_ns = -1;
  unit.census = true;
  return unit;
}

TEST(Units, ComeBackAsTheyWere) {
  const std::vector<RawUnit> units = {Unit()};
  const auto back = ParseUnits(UnitsJson(units));
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_EQ(back.value().size(), 1U);
  EXPECT_EQ(UnitsJson(back.value()), UnitsJson(units));
  EXPECT_TRUE(back.value()[0].census);
  // Rows of before there was a census have nine fields.
  const auto old = ParseUnits(R"([[3,"a","w",4,5000000000,-1,0,false,false]])");
  ASSERT_TRUE(old.ok()) << old.error().message;
  EXPECT_FALSE(old.value()[0].census);
}

TEST(Units, ANumberThatIsNoIntegerOfItsFieldIsADamagedRow) {
  const struct {
    const char* name;
    const char* wall;
    const char* group;
    bool read;
  } cases[] = {
      {"an integer", "7", "3", true},
      {"the largest", "9223372036854775807", "3", true},
      {"beyond every integer", "1.15e+101", "3", false},
      {"written as a real", "7.0", "3", false},
      {"beyond this one", "9223372036854775808", "3", false},
      {"beyond a smaller one", "7", "2147483648", false},
      {"below it", "7", "-2147483649", false},
      {"a text", "\"7\"", "3", false},
      {"a truth", "true", "3", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto units = ParseUnits(std::string("[[") + c.group + R"(,"a","w",4,)" + c.wall + ",0,0,false,false,false]]");
    EXPECT_EQ(units.ok(), c.read);
    if (!units.ok()) {
      EXPECT_EQ(units.error().code, ErrorCode::kCorrupt);
    }
  }
}

TEST(DecisionReports, KeepWhatRecomputesThem) {
  DecisionReport report;
  report.design.winner = "mine";
  report.design.references = {"theirs", "third"};
  report.design.workloads = {"w"};
  report.design.asked_margin = 0.01;
  report.design.most_groups = 14;
  report.power = {0.01, 0.03, 9.5, 12, 2};
  report.units = {Unit()};
  const auto back = ParseDecisionReport(DecisionReportJson(report));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(DecisionReportJson(back.value()), DecisionReportJson(report));
  EXPECT_EQ(back.value().design.references, report.design.references);
  EXPECT_EQ(back.value().power.seconds, 12);
}

}  // namespace
}  // namespace assay
