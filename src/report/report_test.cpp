// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "report/html.h"
#include "report/summary.h"
#include "report/svg.h"
#include "report/table.h"
#include "support/sample_campaign.h"

namespace assay {
namespace {

void ExpectNoLineWiderThan(const std::string& text, size_t width) {
  for (const std::string_view line : Split(text, '\n')) EXPECT_LE(DisplayWidth(std::string(line)), width) << line;
}

TEST(Summary, LeadsWithTheStrongestReferenceAndFitsTheTerminal) {
  const Campaign campaign = SampleCampaign();
  EXPECT_EQ(Headline(campaign),
            "gqa_attention: 1.46x faster than openblas128, the strongest reference (1.45x .. 1.47x)");
  for (const size_t width : {80, 100}) ExpectNoLineWiderThan(CampaignSummary(campaign, width), width);
  const std::string text = CampaignSummary(campaign, 80);
  EXPECT_LT(text.find("openblas128"), text.find("strict"));
  EXPECT_NE(text.find("0.820 (0.800 .. 0.840) of the f32 peak"), std::string::npos);
  EXPECT_NE(text.find("1 rejected (wrong_answer 1)"), std::string::npos) << text;
}

TEST(Summary, SaysWhyThereIsNoClaim) {
  Campaign campaign = SampleCampaign();
  campaign.incumbent->decisions[0].kind = DecisionKind::kUndecided;
  campaign.incumbent->decisions[0].value.reset();
  EXPECT_NE(Headline(campaign).find("UNDECIDED"), std::string::npos);
  EXPECT_EQ(Headline(campaign).find("faster"), std::string::npos);
  campaign.incumbent.reset();
  EXPECT_NE(Headline(campaign).find("no candidate was examined"), std::string::npos);
  for (Attempt& attempt : campaign.attempts) attempt.outcome = OutcomeKind::kRejected;
  EXPECT_NE(Headline(campaign).find("every proposal was rejected"), std::string::npos);
}

TEST(Summary, ARetractionGoesBeforeTheClaim) {
  Campaign campaign = SampleCampaign();
  Recheck recheck;
  recheck.campaign = campaign.id;
  recheck.attempt = 4;
  recheck.when = "2026-11-30T12:00:00Z";
  campaign.rechecks.push_back(recheck);
  EXPECT_NE(CampaignSummary(campaign, 80).find("attempt 4 stands"), std::string::npos);
  EXPECT_NE(Headline(campaign).find("faster"), std::string::npos);
  recheck.rejected = Rejected{Stage::kVerify, Reason::kDependsOnHistory, "history", "it <kept> an answer", {}};
  campaign.rechecks.push_back(recheck);
  EXPECT_NE(Headline(campaign).find("RETRACTED"), std::string::npos);
  EXPECT_EQ(Headline(campaign).find("faster"), std::string::npos);
  EXPECT_NE(CampaignSummary(campaign, 80).find("depends_on_history"), std::string::npos);
  ExpectNoLineWiderThan(CampaignSummary(campaign, 80), 80);
  EXPECT_NE(CampaignHtml(campaign).find("it &lt;kept&gt; an answer"), std::string::npos);
}

TEST(Summary, TellsWhenceAFloorsRateIs) {
  DecisionReport report;
  report.workload_seconds = {{"w", {{"a", 2e-3}}}};
  report.floors = {{"w", "L2 bandwidth", 1e-3, 100e9, 1, 1, true},
                   {"v", "i8 peak", 1e-3, 400e9, 1, 1},
                   {"u", "nothing that was measured", 0, 0, 1, 1}};
  const std::string text = BenchText(report, "a", "b", 100);
  EXPECT_NE(text.find("floor of w: 1 ms by L2 bandwidth (100 GB/s calibrated)"), std::string::npos) << text;
  EXPECT_NE(text.find("floor of v: 1 ms by i8 peak (400 Gop/s measured in this run)"), std::string::npos) << text;
  EXPECT_NE(text.find("floor of u: none; nothing that was measured bounds it"), std::string::npos) << text;

  Campaign campaign = SampleCampaign();
  campaign.incumbent->floor.bound_by = "L3 bandwidth";
  campaign.incumbent->floor.calibrated = true;
  EXPECT_NE(CampaignSummary(campaign, 100).find("of the L3 bandwidth calibrated"), std::string::npos);
  const std::string page = CampaignHtml(campaign);
  EXPECT_NE(page.find("of the L3 bandwidth calibrated"), std::string::npos);
  EXPECT_NE(page.find("i8 peak 464 G/s with 1 thread"), std::string::npos);
  EXPECT_NE(page.find("L2 180 GB/s with 1 thread"), std::string::npos);
}

TEST(Summary, TimesKeepThreeDigits) {
  const struct {
    double ratio;
    const char* text;
  } cases[] = {{1.456, "1.46x"}, {9.994, "9.99x"}, {9.996, "10.0x"},   {18.23, "18.2x"},
               {99.94, "99.9x"}, {99.96, "100x"},  {std::nan(""), "-"}};
  for (const auto& c : cases) EXPECT_EQ(Times(c.ratio), c.text);
}

TEST(Svg, ShowsEveryUnitThatCountsAndTheFloor) {
  DecisionReport report;
  report.winner = "mine";
  report.winner_low = 0.9e-3;
  report.winner_high = 1.1e-3;
  report.floors = {{"w", "f32 peak", 0.5e-3, 1e9, 1, 1}};
  Decision decision;
  decision.against = "<theirs>";
  decision.workload = "w";
  decision.groups = 2;
  report.decisions = {decision};
  const auto add = [&](int group, const char* arm, bool gated, bool redrawn, bool census) {
    RawUnit unit;
    unit.group = group;
    unit.arm = arm;
    unit.workload = "w";
    unit.wall_ns = 1'000'000;
    unit.gated = gated;
    unit.redrawn = redrawn;
    unit.census = census;
    report.units.push_back(unit);
  };
  add(1, "mine", false, false, false);
  add(1, "mine", true, false, false);
  add(1, "<theirs>", false, false, false);
  add(1, "somebody else", false, false, false);
  add(2, "mine", false, true, false);
  add(3, "mine", false, false, true);
  const std::string svg = UnitsSvg(report, "w");
  size_t dots = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots, 3U) << svg;
  EXPECT_NE(svg.find("fill='none'"), std::string::npos) << "a gated call is a ring";
  EXPECT_NE(svg.find("floor 500 us"), std::string::npos) << svg;
  EXPECT_NE(svg.find("&lt;theirs&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(UnitsSvg(report, "another"), "");
}

TEST(Html, IsOnePageAndShowsForeignTextAsText) {
  const std::string page = CampaignHtml(SampleCampaign());
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<b>online"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  for (const char* shown : {"1.46x faster", "AMD EPYC", "assay run gqa_attention --budget 6 --seed 7", "openblas128",
                            "1.45x .. 1.47x", "landlock"}) {
    EXPECT_NE(page.find(shown), std::string::npos) << shown;
  }
  // For a look at it: REPORT_SAMPLE=/tmp/sample.html report_test
  if (const char* path = std::getenv("REPORT_SAMPLE")) {
    EXPECT_TRUE(WriteFileAtomically(path, page).ok());
  }
}

TEST(Table, AlignsNumbersAndCutsTheLastColumn) {
  TextTable table({"n", "text"});
  table.Add({"1", "short"});
  table.Add({"100", "a text that is much too long for the line"});
  const std::string text = table.Render(30);
  EXPECT_NE(text.find("    1  short"), std::string::npos);
  EXPECT_NE(text.find(".."), std::string::npos);
  ExpectNoLineWiderThan(text, 30);
}

}  // namespace
}  // namespace assay
