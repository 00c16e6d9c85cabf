// SPDX-License-Identifier: Apache-2.0
#include "measure/decide.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "measure/testing/streams.h"
#include "numerics/statistics.h"
#include "record/json.h"

namespace assay {
namespace {

using testing::Constant;
using testing::PlainArms;
using testing::PlainDesign;
using testing::PlayDecision;
using testing::PlayGroup;
using testing::StreamArm;
using testing::StreamNoise;

constexpr double kReference = 10e-3;
StreamNoise Quiet() { return {.between = 0.002, .within = 0.005, .tails = 0.05}; }
// Busy as machines are: one unit in ten takes five times as long, restarts differ by a percent.
StreamNoise Busy() { return {.between = 0.01, .within = 0.01, .tails = 0.1}; }

using Factory = std::function<std::function<double(int, Stream&)>()>;

std::map<DecisionKind, int> Count(int campaigns, const Factory& candidate, const StreamNoise& noise, uint64_t seed,
                                  DecisionDesign design = PlainDesign()) {
  Stream stream(Seed::FromNumber(seed));
  std::map<DecisionKind, int> counts;
  for (int i = 0; i < campaigns; ++i) {
    ++counts[PlayDecision(design, PlainArms(candidate(), kReference), noise, stream).decisions.at(0).kind];
  }
  return counts;
}

Factory Always(double seconds) {
  return [seconds] { return Constant(seconds); };
}

// Nothing differs between the two runs but their draws.
TEST(DecideFromUnits, ASecondMeasurementLiesInTheReproductionInterval) {
  constexpr int kPairs = 200;
  const StreamNoise wild = {.between = 0.05, .within = 0.02, .tails = 0.1};
  DecisionDesign design = PlainDesign();
  design.between_runs = 0;
  Stream stream(Seed::FromNumber(3));
  int inside = 0;
  for (int pair = 0; pair < kPairs; ++pair) {
    const auto run = [&] {
      return PlayDecision(design, PlainArms(Constant(kReference / 2)), wild, stream).decisions.at(0);
    };
    const Decision first = run(), second = run();
    const double again = std::exp(Median(second.group_log_ratios));
    inside += first.reproduction_low <= again && again <= first.reproduction_high ? 1 : 0;
  }
  EXPECT_GE(inside, kPairs * 19 / 20);
}

TEST(DecideFromUnits, SaysWhatIsTrueOnAQuietMachine) {
  const struct {
    const char* name;
    double seconds;
    DecisionKind kind;
  } cases[] = {
      {"five times as fast", kReference / 5, DecisionKind::kFaster},
      {"5 % faster", kReference / 1.05, DecisionKind::kFaster},
      {"equal", kReference, DecisionKind::kSame},
      {"5 % slower", kReference * 1.05, DecisionKind::kSlower},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Stream stream(Seed::FromNumber(1));
    const Evidence evidence = PlayDecision(PlainDesign(), PlainArms(Constant(c.seconds)), Quiet(), stream);
    const Decision& decision = evidence.decisions.at(0);
    EXPECT_EQ(decision.kind, c.kind) << decision.note;
    ASSERT_TRUE(decision.value);
    EXPECT_NEAR(*decision.value, kReference / c.seconds, 0.01 * kReference / c.seconds);
    EXPECT_LE(decision.low, *decision.value);
    EXPECT_GE(decision.high, *decision.value);
    EXPECT_LT(decision.reproduction_low, decision.low);
    EXPECT_GT(decision.reproduction_high, decision.high);
    EXPECT_TRUE(evidence.control_found);
    EXPECT_EQ(decision.groups, static_cast<int>(decision.group_log_ratios.size()));
  }
}

TEST(DecideFromUnits, NeedsItsFirstLook) {
  Stream stream(Seed::FromNumber(2));
  std::vector<RawUnit> units;
  DecisionDesign design = PlainDesign();
  const int first = DecideFromUnits(units, design).next_look;
  EXPECT_GE(first, 7);  // fewer sign patterns cannot carry 1 %
  for (int group = 0; group + 1 < first; ++group)
    PlayGroup(group, PlainArms(Constant(kReference / 5)), Quiet(), stream, "w", units);
  Evidence evidence = DecideFromUnits(units, design);
  EXPECT_EQ(evidence.decisions.at(0).kind, DecisionKind::kUndecided);
  EXPECT_FALSE(evidence.decisions.at(0).value);
  EXPECT_FALSE(evidence.settled);
  PlayGroup(first - 1, PlainArms(Constant(kReference / 5)), Quiet(), stream, "w", units);
  evidence = DecideFromUnits(units, design);
  EXPECT_EQ(evidence.decisions.at(0).kind, DecisionKind::kUndecided) << "its restarts are still to be seen";
  EXPECT_EQ(evidence.census_due, 51 - first);
  design.bad_share = 0;
  EXPECT_EQ(DecideFromUnits(units, design).decisions.at(0).kind, DecisionKind::kFaster);
}

// Eight groups without any noise, the candidate 10 % faster but in some, where it or its copy is slower.
Evidence PlayEight(int own_losses, int copy_losses, double slower) {
  const auto losing = [slower](int losses) {
    return [losses, slower](int group, Stream&) { return group < losses ? kReference * slower : kReference / 1.1; };
  };
  std::vector<StreamArm> arms = PlainArms(losing(own_losses));
  arms[1].seconds = losing(copy_losses);
  const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
  Stream stream(Seed::FromNumber(9));
  std::vector<RawUnit> units;
  for (int group = 0; group < 8; ++group) PlayGroup(group, arms, none, stream, "w", units);
  DecisionDesign design = PlainDesign();
  design.bad_share = 0;
  return DecideFromUnits(units, design);
}

TEST(DecideFromUnits, TheFirstLookForgivesNoGroup) {
  EXPECT_EQ(PlayEight(0, 0, 1.02).decisions.at(0).kind, DecisionKind::kFaster);
  EXPECT_EQ(PlayEight(1, 0, 1.02).decisions.at(0).kind, DecisionKind::kUndecided);
  EXPECT_FALSE(PlayEight(1, 0, 1.02).settled) << "the next look may still say so";
}

TEST(DecideFromUnits, FasterInTheMedianWithTwoBadGroupsIsUnstable) {
  EXPECT_EQ(PlayEight(0, 1, 1.2).decisions.at(0).kind, DecisionKind::kFaster) << "one may be the machine's";
  EXPECT_EQ(PlayEight(0, 2, 1.2).decisions.at(0).kind, DecisionKind::kUnstable);
  EXPECT_EQ(PlayEight(0, 2, 1.02).decisions.at(0).kind, DecisionKind::kFaster) << "slower by less than is minded";
}

TEST(DecideFromUnits, AWorkloadThatWasNotMeasuredForbidsTheClaim) {
  for (const double faster : {1.2, 1.0}) {
    DecisionDesign design = PlainDesign();
    const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
    Stream stream(Seed::FromNumber(15));
    std::vector<RawUnit> units;
    const DecisionKind kind =
        PlayDecision(design, PlainArms(Constant(kReference / faster)), none, stream, &units).decisions[0].kind;
    EXPECT_EQ(kind, faster > 1 ? DecisionKind::kFaster : DecisionKind::kSame);
    design.workloads.push_back("missing");
    for (const Decision& decision : DecideFromUnits(units, design).decisions) {
      EXPECT_EQ(decision.kind, DecisionKind::kUndecided) << decision.workload;
      EXPECT_FALSE(decision.value);
      EXPECT_NE(decision.note.find(decision.workload == "missing" ? "no group timed both" : "not measured on workload"),
                std::string::npos)
          << decision.note;
    }
  }
}

TEST(DecideFromUnits, AReferenceThatIsRefusedOnTheWayChangesNoBoundary) {
  DecisionDesign design = PlainDesign();
  design.comparisons = 3;
  const Evidence evidence = DecideFromUnits({}, design);
  EXPECT_DOUBLE_EQ(evidence.decisions[0].alpha, 0.01 / 3);
  design.references = {"reference", "second", "third"};
  design.comparisons = 0;  // of a ledger from before it was kept
  EXPECT_DOUBLE_EQ(DecideFromUnits({}, design).decisions[0].alpha, 0.01 / 3);
}

TEST(DecideFromUnits, IsTheSameForTheSameUnits) {
  Stream stream(Seed::FromNumber(3));
  std::vector<RawUnit> units;
  const Evidence live = PlayDecision(PlainDesign(), PlainArms(Constant(kReference / 1.04)), Busy(), stream, &units);
  const Evidence again = DecideFromUnits(units, PlainDesign());
  const Decision &a = live.decisions.at(0), &b = again.decisions.at(0);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.margin, b.margin);
  EXPECT_EQ(a.group_log_ratios, b.group_log_ratios);
}

TEST(DecideFromUnits, SharesAlphaAmongReferencesAndLooksLaterForIt) {
  DecisionDesign design = PlainDesign();
  const int first_of_one = DecideFromUnits({}, design).next_look;
  design.references = {"reference", "other", "third"};
  const Evidence three = DecideFromUnits({}, design);
  EXPECT_GT(three.next_look, first_of_one);
  ASSERT_EQ(three.decisions.size(), 3U);
  EXPECT_DOUBLE_EQ(three.decisions[0].alpha, 0.01 / 3);
}

TEST(DecideFromUnits, ClaimsOnlyBeyondTheAskedMargin) {
  DecisionDesign design = PlainDesign();
  design.asked_margin = std::log(1.10);
  Stream stream(Seed::FromNumber(4));
  EXPECT_NE(PlayDecision(design, PlainArms(Constant(kReference / 1.08)), Quiet(), stream).decisions[0].kind,
            DecisionKind::kFaster);
  EXPECT_EQ(PlayDecision(design, PlainArms(Constant(kReference / 1.13)), Quiet(), stream).decisions[0].kind,
            DecisionKind::kFaster);
}

TEST(DecideFromUnits, TheMarginFollowsTheTrustedArmAndNotTheCandidate) {
  std::vector<StreamArm> arms = PlainArms(Constant(kReference / 1.5));
  Stream stream(Seed::FromNumber(5));
  // A candidate that is noisy on purpose does not widen it.
  const auto nervous = [](int, Stream& s) { return kReference / 1.5 * std::exp(0.2 * s.Normal()); };
  const Evidence calm = PlayDecision(PlainDesign(), arms, Quiet(), stream);
  const Evidence noisy = PlayDecision(PlainDesign(), PlainArms(nervous), Quiet(), stream);
  EXPECT_DOUBLE_EQ(calm.margin, kLeastMargin);
  EXPECT_DOUBLE_EQ(noisy.margin, kLeastMargin);
  // A machine on which the witness differs from itself does.
  const StreamNoise wild = {.between = 0.05, .within = 0.05, .tails = 0.1};
  EXPECT_GT(PlayDecision(PlainDesign(), arms, wild, stream).margin, kLeastMargin);
}

TEST(DecideFromUnits, MakesNoClaimWhenAnArmIsToldFromItsCopy) {
  std::vector<StreamArm> arms = PlainArms(Constant(kReference / 2));
  arms[1].seconds = Constant(kReference / 2 * 1.05);  // the slot, not the code, decides who is fast
  Stream stream(Seed::FromNumber(6));
  const Evidence evidence = PlayDecision(PlainDesign(), arms, Quiet(), stream);
  EXPECT_TRUE(evidence.aa_decided);
  EXPECT_EQ(evidence.decisions[0].kind, DecisionKind::kUndecided);
  EXPECT_NE(evidence.decisions[0].note.find("copy"), std::string::npos);
}

TEST(DecideFromUnits, MakesNoClaimWhenThePlantedSlowdownIsNotFound) {
  std::vector<StreamArm> arms = PlainArms(Constant(kReference / 2));
  arms[4].delay = 0;  // a blind instrument
  Stream stream(Seed::FromNumber(7));
  const Evidence evidence = PlayDecision(PlainDesign(), arms, Quiet(), stream);
  EXPECT_FALSE(evidence.control_found);
  EXPECT_EQ(evidence.decisions[0].kind, DecisionKind::kUndecided);
  EXPECT_TRUE(evidence.settled);
  EXPECT_LT(evidence.decisions[0].groups, 30);  // it stopped where no group to come could find it
  EXPECT_GE(evidence.decisions[0].groups, 8);

  DecisionDesign later = PlainDesign();
  later.control_found_before = true;
  EXPECT_EQ(PlayDecision(later, arms, Quiet(), stream).decisions[0].kind, DecisionKind::kFaster);
}

TEST(DecideFromUnits, ARunThatMissesThePlantedSlowdownClaimsOnlyWhatItWouldHaveFound) {
  // Restarts differ by a fifth: 3 % cannot be seen here, a factor of three can.
  const StreamNoise wild = {.between = 0.2, .within = 0.05, .tails = 0.1};
  std::map<DecisionKind, int> large, small, none;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Stream stream(Seed::FromNumber(400 + seed));
    const auto play = [&](double times) {
      return PlayDecision(PlainDesign(), PlainArms(Constant(kReference / times)), wild, stream);
    };
    const Evidence evidence = play(3);
    const Decision& decision = evidence.decisions.at(0);
    ++large[decision.kind];
    if (!evidence.control_found && decision.kind == DecisionKind::kFaster) {
      EXPECT_GT(decision.margin, std::log(1.03));
      EXPECT_GT(std::log(*decision.value), decision.margin);
    }
    ++small[play(1.05).decisions.at(0).kind];
    ++none[play(1).decisions.at(0).kind];
  }
  EXPECT_GE(large[DecisionKind::kFaster], 36);
  EXPECT_LE(small[DecisionKind::kFaster], 4);
  EXPECT_EQ(none[DecisionKind::kFaster] + none[DecisionKind::kSlower] + none[DecisionKind::kSame], 0);
}

TEST(DecideFromUnits, AnotherWorkloadThatIsSlowerForbidsTheClaim) {
  DecisionDesign design = PlainDesign();
  design.workloads = {"w", "v"};
  Stream stream(Seed::FromNumber(8));
  std::vector<RawUnit> units;
  for (int group = 0; group < 30; ++group) {
    PlayGroup(group, PlainArms(Constant(kReference / 2)), Quiet(), stream, "w", units);
    PlayGroup(group, PlainArms(Constant(kReference * 1.2)), Quiet(), stream, "v", units);
  }
  const Evidence evidence = DecideFromUnits(units, design);
  ASSERT_EQ(evidence.decisions.size(), 2U);
  EXPECT_EQ(evidence.decisions[0].kind, DecisionKind::kUndecided);
  EXPECT_NE(evidence.decisions[0].note.find("slower on workload v"), std::string::npos);
  EXPECT_EQ(evidence.decisions[1].kind, DecisionKind::kSlower);
}

// --- streams that the machine or a candidate makes ---------------------------------------------

TEST(Streams, ClaimNothingForAnEqualKernelWithHeavyTails) {
  StreamNoise tails = Busy();
  tails.group_tails = 0.1;
  auto counts = Count(400, Always(kReference), tails, 11);
  EXPECT_LE(counts[DecisionKind::kFaster], 4);
  EXPECT_LE(counts[DecisionKind::kSlower], 4);
}

TEST(Streams, FindAnExcessOfThreePercentOverTheMargin) {
  auto counts = Count(100, Always(kReference / 1.04), Busy(), 12);
  EXPECT_GE(counts[DecisionKind::kFaster], 95);
  EXPECT_EQ(counts[DecisionKind::kSlower], 0);
}

TEST(Streams, FindAPlantedSlowdown) {
  auto counts = Count(100, Always(kReference * 1.035), Quiet(), 13);
  EXPECT_GE(counts[DecisionKind::kSlower], 95);
}

TEST(Streams, DriftAndStepsMoveBothArmsAndNoVerdict) {
  StreamNoise drift = Quiet();
  drift.drift = [](int group, int unit) { return 0.01 * (6 * group + unit); };
  StreamNoise step = Quiet();
  step.drift = [](int group, int unit) { return group % 2 == 1 && unit >= 3 ? 0.4 : 0.0; };
  StreamNoise two_clocks = Quiet();
  two_clocks.drift = [](int group, int) { return group % 3 == 0 ? 0.25 : 0.0; };
  uint64_t seed = 14;
  for (const StreamNoise& noise : {drift, step, two_clocks}) {
    auto counts = Count(50, Always(kReference), noise, seed++);
    EXPECT_LE(counts[DecisionKind::kFaster] + counts[DecisionKind::kSlower], 1);
    EXPECT_EQ(Count(20, Always(kReference / 1.05), noise, seed++)[DecisionKind::kFaster], 20);
  }
}

// +8 % in a good half of the restarts, half as fast in the others: a mean would see it, a median would not.
TEST(Streams, AKernelSlowInNearlyHalfOfItsRestartsIsNotCalledFaster) {
  const auto two_faced = [](int, Stream& s) { return s.Unit() < 0.56 ? kReference / 1.08 : kReference * 2; };
  auto counts = Count(
      200, [&] { return two_faced; }, Quiet(), 20);
  EXPECT_LE(counts[DecisionKind::kFaster], 4);
}

// Good in nine restarts of ten: so few full groups rarely hold a bad one, the census does.
TEST(Streams, AKernelSlowInATenthOfItsRestartsIsNotCalledFaster) {
  const auto two_faced = [](int, Stream& s) { return s.Unit() < 0.9 ? kReference / 1.08 : kReference * 1.3; };
  auto counts = Count(
      300, [&] { return two_faced; }, Quiet(), 23);
  EXPECT_LE(counts[DecisionKind::kFaster], 3 + 4);  // 1 %, and what 300 tries may show of it with 99.5 %
}

// A kernel that is equal, and burns time whenever its restart goes badly, hoping for a redraw: a
// group is redrawn on others' evidence only, so the burnt ones are its losses.
TEST(Streams, ASelfSpoiltRestartIsALoss) {
  const auto spoils = [](int, Stream& s) {
    const double luck = 0.01 * s.Normal();
    return kReference * std::exp(luck) * (luck > 0 && s.Unit() < 0.8 ? 1.5 : 1.0);
  };
  auto counts = Count(
      300, [&] { return spoils; }, Busy(), 21);
  EXPECT_LE(counts[DecisionKind::kFaster], 3);
}

TEST(Streams, CallsThatOverlapGainNothing) {
  std::vector<StreamArm> arms = PlainArms(Constant(kReference));
  for (StreamArm& arm : arms) arm.calls = 4, arm.gated_extra = 0;
  // Side by side in a unit they look twice as fast; one at a time they are what they are.
  for (size_t i : {0, 1}) arms[i].seconds = Constant(kReference / 2), arms[i].gated_extra = 1;
  Stream stream(Seed::FromNumber(22));
  EXPECT_EQ(PlayDecision(PlainDesign(), arms, Quiet(), stream).decisions[0].kind, DecisionKind::kSame);
}

// Decisions of many kinds with their units, for the second implementation in tests/e2e/test_decision.py; written
// only where it asks for them.
TEST(Streams, AreWrittenForASecondImplementation) {
  const char* const folder = std::getenv("ASSAY_DECISIONS");
  if (folder == nullptr) GTEST_SKIP() << "ASSAY_DECISIONS names no folder";
  StreamNoise tails = Busy();
  tails.group_tails = 0.1;
  const StreamNoise wild = {.between = 0.2, .within = 0.05, .tails = 0.1};
  const StreamNoise noises[] = {Quiet(), Busy(), tails, wild};
  const double times[] = {0.5, 0.97, 1, 1.03, 1.08, 3};
  int number = 0;
  for (const StreamNoise& noise : noises) {
    for (const double faster : times) {
      for (int variant = 0; variant < 6; ++variant, ++number) {
        DecisionDesign design = PlainDesign();
        const bool two_faced = variant == 3;
        std::vector<StreamArm> arms = PlainArms(
            [=](int, Stream& s) { return two_faced && s.Unit() < 0.12 ? kReference * 1.3 : kReference / faster; });
        if (variant == 1) {
          design.references = {"reference", "other", "third"};
          design.asked_margin = std::log(1.02);
          arms.push_back({"other", Constant(kReference * 1.5)});
          arms.push_back({"third", Constant(kReference / 1.04), 2});
        }
        if (variant == 2) {
          for (StreamArm& arm : arms) arm.calls = 4, arm.gated_extra = 0.02;
          arms[0].gated_extra = 0.05;
        }
        if (variant == 4) {
          design.workloads = {"w", "v"};
          design.comparisons = 2;
        }
        if (variant == 5) {
          for (int regime = 0; regime < 12; ++regime) design.regimes.push_back(std::to_string(regime));
          arms[0].by_regime.assign(12, 1.0);
          arms[0].by_regime[3] = 1.2;
        }
        const double disturbed = variant >= 4 ? 0.2 : 0;
        DecisionReport report;
        report.design = design;
        Stream stream(Seed::FromNumber(1000 + static_cast<uint64_t>(number)));
        const Evidence evidence = PlayDecision(design, arms, noise, stream, &report.units, disturbed);
        report.decisions = evidence.decisions;
        report.aa_low = evidence.aa_low;
        report.aa_high = evidence.aa_high;
        report.control_found = evidence.control_found;
        const auto written = WriteFileAtomically(std::filesystem::path(folder) / (std::to_string(number) + ".json"),
                                                 DecisionReportJson(report));
        ASSERT_TRUE(written.ok()) << written.error().message;
      }
    }
  }
}

TEST(SortByStrength, PutsTheReferenceFirstThatTheWinnerBeatsByLeast) {
  std::vector<Decision> decisions(4);
  const struct {
    const char* against;
    const char* workload;
    double low;
  } rows[] = {{"strict", "w", 18}, {"strict", "v", 1.1}, {"peer", "w", 1.25}, {"peer", "v", 9}};
  for (size_t i = 0; i < 4; ++i) {
    decisions[i].against = rows[i].against;
    decisions[i].workload = rows[i].workload;
    decisions[i].low = rows[i].low;
    decisions[i].groups = 8;
  }
  SortByStrength(decisions, "w");
  EXPECT_EQ(decisions[0].against, "peer");
  EXPECT_EQ(decisions[0].workload, "w");
  EXPECT_EQ(decisions[2].against, "strict");
}

}  // namespace
}  // namespace assay
