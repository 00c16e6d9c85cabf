// SPDX-License-Identifier: Apache-2.0
#include "record/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "record/exports.h"

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

TEST(Units, KeepTheKernelsShareWhereThereIsOne) {
  RawUnit alone = Unit(), in_situ = Unit();
  in_situ.own_ns = -7;
  const auto back = ParseUnits(UnitsJson(std::vector<RawUnit>{alone, in_situ}));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value()[0].own_ns, 0);
  EXPECT_EQ(back.value()[1].own_ns, -7);
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
  report.probes = {{3, "w", 0.07}};
  report.redraws = {{3, "others used 9 % of the cores"}};
  report.own_seconds = {{"a", 2e-3}};
  report.rates.read_bytes = 3;
  report.rates.threads = 2;
  report.rates.peaks = {{"i8", 4, 5}};
  report.rates.caches = {{2, 1 << 20, 1, 6, 7}};
  report.floors = {{"w", "L2 bandwidth", 1, 2, 3, 4, true}, {"w", "i8 peak", 1, 2, 3, 4}};
  const auto back = ParseDecisionReport(DecisionReportJson(report));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(DecisionReportJson(back.value()), DecisionReportJson(report));
  EXPECT_EQ(back.value().design.references, report.design.references);
  EXPECT_EQ(back.value().power.seconds, 12);
  ASSERT_EQ(back.value().probes.size(), 1U);
  EXPECT_EQ(back.value().probes[0].slowed, 0.07);
  ASSERT_EQ(back.value().redraws.size(), 1U);
  EXPECT_EQ(back.value().redraws[0].group, 3);
  EXPECT_EQ(back.value().redraws[0].why, "others used 9 % of the cores");
  EXPECT_EQ(back.value().own_seconds, report.own_seconds);
  ASSERT_EQ(back.value().floors.size(), 2U);
  EXPECT_TRUE(back.value().floors[0].calibrated);
  EXPECT_FALSE(back.value().floors[1].calibrated);
  EXPECT_EQ(back.value().rates.peaks.at(0).all_threads, 5);
  EXPECT_EQ(back.value().rates.caches.at(0).one_thread, 6);
}

// Two units of one arm, one of them redrawn, and a gated one of an arm whose name wants quotes.
DecisionReport Exported() {
  DecisionReport report;
  RawUnit unit = Unit();
  unit.census = false;
  unit.null_ns = 1'000'000'000;
  unit.cpu_ns = 2'000'000'000;
  report.units = {unit, unit, unit};
  report.units[1].redrawn = true;
  report.units[2].arm = "b, \"fast\"";
  report.units[2].gated = true;
  return report;
}

TEST(Exports, TheTableHasEveryUnitAndQuotesWhatNeedsIt) {
  const std::string csv = UnitsCsv(Exported());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_NE(csv.find("\n3,a,w,4,5000000000,1000000000,2000000000,0,1,0,-1,1000000000.000,0,0\n"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find("\n3,\"b, \"\"fast\"\"\",w,"), std::string::npos) << csv;
}

TEST(Exports, OtherToolsReadTheirOwnFields) {
  const std::string google = GoogleBenchmarkJson(Exported(), "toy", Machine{});
  for (const char* field : {"\"name\": \"toy/w/a\"", "\"name\": \"toy/w/b, \\\"fast\\\"/gated\"", "\"iterations\": 4",
                            "\"real_time\": 1000000000.0", "\"cpu_time\": 500000000.0", "\"time_unit\": \"ns\"",
                            "\"repetitions\": 1", "\"run_type\": \"iteration\""}) {
    EXPECT_NE(google.find(field), std::string::npos) << field << "\n" << google;
  }
  const std::string hyperfine = HyperfineJson(Exported());
  for (const char* field : {"\"command\": \"a on w\"", "\"median\": 1.0", "\"mean\": 1.0", "\"stddev\": null",
                            "\"user\": 0.5", "\"exit_codes\""}) {
    EXPECT_NE(hyperfine.find(field), std::string::npos) << field << "\n" << hyperfine;
  }
}

}  // namespace
}  // namespace assay
