// SPDX-License-Identifier: Apache-2.0
//
// A claim needs restarts without regret, with each kind of values.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "measure/decide.h"
#include "measure/testing/streams.h"

namespace assay {
namespace {

using testing::Constant;
using testing::PlainArms;
using testing::PlainDesign;
using testing::PlayDecision;
using testing::StreamArm;
using testing::StreamNoise;

constexpr double kReference = 10e-3;

// A quiet decision for a candidate 10 % faster whose short groups `bad` (by number, from 0) are slow.
struct Census {
  Evidence evidence;
  int short_groups = 0;
};
Census PlayCensus(const std::function<bool(int)>& bad) {
  const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
  const auto candidate = [&](int group, Stream&) {
    return group >= 8 && bad(group - 8) ? kReference * 1.3 : kReference / 1.1;
  };
  Stream stream(Seed::FromNumber(10));
  std::vector<RawUnit> units;
  Census census{PlayDecision(PlainDesign(), PlainArms(candidate), none, stream, &units)};
  std::set<int> groups;
  for (const RawUnit& unit : units) {
    if (unit.census) groups.insert(unit.group);
  }
  census.short_groups = static_cast<int>(groups.size());
  return census;
}

TEST(Regret, FasterIsSaidWhenBadRestartsHaveShownToBeRare) {
  const Census none = PlayCensus([](int) { return false; });
  EXPECT_EQ(none.evidence.decisions.at(0).kind, DecisionKind::kFaster) << none.evidence.decisions.at(0).note;
  EXPECT_EQ(none.evidence.decisions.at(0).groups, 8);
  EXPECT_EQ(none.short_groups, 43);  // with 8 full ones the 51 of the first look
  const Census one = PlayCensus([](int group) { return group == 5; });
  EXPECT_EQ(one.evidence.decisions.at(0).kind, DecisionKind::kFaster);
  EXPECT_EQ(one.short_groups, 70);
  EXPECT_EQ(one.evidence.decisions.at(0).restarts, 78);
  EXPECT_EQ(one.evidence.decisions.at(0).bad_restarts, 1);
}

TEST(Regret, TooManyBadRestartsAreUnstableAndSaySo) {
  const Census tenth = PlayCensus([](int group) { return group % 10 == 9; });
  const Decision& decision = tenth.evidence.decisions.at(0);
  EXPECT_EQ(decision.kind, DecisionKind::kUnstable);
  EXPECT_FALSE(decision.value);
  EXPECT_NE(decision.note.find("restarts were slower by more than 5 %"), std::string::npos) << decision.note;
  // It ends as soon as no look can be passed any more, not at the last one.
  const Census most = PlayCensus([](int) { return true; });
  EXPECT_EQ(most.short_groups, 43);
}

TEST(Regret, IsOfTheReferenceAndNotOfTheWinnersOwnBestTime) {
  // Twice as fast, in a tenth of the restarts only 1.5 times: nobody who takes it regrets it.
  const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
  const auto candidate = [](int group, Stream&) { return group % 10 == 9 ? kReference / 1.5 : kReference / 2; };
  Stream stream(Seed::FromNumber(11));
  const Evidence evidence = PlayDecision(PlainDesign(), PlainArms(candidate), none, stream);
  EXPECT_EQ(evidence.decisions.at(0).kind, DecisionKind::kFaster);
  EXPECT_EQ(evidence.decisions.at(0).bad_restarts, 0);
}

TEST(Regret, IsJudgedAgainstEachReferenceThroughTheArmThatStoodBeside) {
  // The winner is 2.2 times as fast as `slow` and 1.1 times as `reference`; slow restarts regret the latter alone.
  DecisionDesign design = PlainDesign();
  design.references = {"reference", "slow"};
  const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
  const auto candidate = [](int group, Stream&) { return group % 8 == 7 ? kReference * 1.3 : kReference / 1.1; };
  std::vector<StreamArm> arms = PlainArms(candidate);
  arms[1].seconds = Constant(kReference / 1.1);
  arms.push_back({"slow", Constant(kReference * 2)});
  Stream stream(Seed::FromNumber(12));
  const Evidence evidence = PlayDecision(design, arms, none, stream);
  EXPECT_EQ(evidence.decisions.at(0).kind, DecisionKind::kUnstable) << evidence.decisions.at(0).note;
  EXPECT_EQ(evidence.decisions.at(1).kind, DecisionKind::kFaster) << evidence.decisions.at(1).note;
}

// A kind of values that is always slow is no accident, though one in twelve restarts would be forgiven.
TEST(Regret, AKindOfValuesThatIsAlwaysSlowForbidsTheClaim) {
  const struct {
    const char* name;
    double slower;  // than else, where all values are of the last kind
    DecisionKind kind;
  } cases[] = {{"alike", 1.0, DecisionKind::kFaster}, {"slower than the reference", 1.5, DecisionKind::kUnstable}};
  const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    DecisionDesign design = PlainDesign();
    for (int i = 0; i < 12; ++i) design.regimes.push_back("kind " + std::to_string(i));
    std::vector<StreamArm> arms = PlainArms(Constant(kReference / 1.2));
    arms[0].by_regime.assign(12, 1.0);
    arms[0].by_regime.back() = c.slower;
    Stream stream(Seed::FromNumber(13));
    const Decision decision = PlayDecision(design, arms, none, stream).decisions[0];
    EXPECT_EQ(decision.kind, c.kind) << decision.note;
    ASSERT_EQ(decision.regimes.size(), 12U);
    EXPECT_NEAR(decision.regimes.front().times.value_or(0), 1.2, 1e-3);
    EXPECT_NEAR(decision.regimes.back().times.value_or(0), 1.2 / c.slower, 1e-3);
    EXPECT_EQ(decision.note.find("kind 11") != std::string::npos, c.slower > 1);
  }
}

TEST(Regret, AKindOfValuesThatWasNeverTimedIsAGapThatIsFilledFirst) {
  DecisionDesign design = PlainDesign();
  const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
  Stream stream(Seed::FromNumber(14));
  std::vector<RawUnit> units;
  ASSERT_EQ(PlayDecision(design, PlainArms(Constant(kReference / 1.2)), none, stream, &units).decisions[0].kind,
            DecisionKind::kFaster);
  design.regimes = {"one", "other"};
  const Evidence open = DecideFromUnits(units, design);
  EXPECT_EQ(open.decisions[0].kind, DecisionKind::kUndecided);
  EXPECT_FALSE(open.decisions[0].value);
  EXPECT_FALSE(open.decisions[0].regimes[0].times);
  EXPECT_FALSE(open.settled);
  EXPECT_EQ(open.census_due, 0);
  EXPECT_EQ(open.regimes_due, (std::set<int>{0, 1}));
}

// Users meet mixtures: restarts with values of one kind do not count as theirs, however many kinds there are.
TEST(Regret, RestartsWithOneKindOfValuesDoNotStandInForThoseWithTheMixture) {
  DecisionDesign design = PlainDesign();
  for (int i = 0; i < 60; ++i) design.regimes.push_back("kind " + std::to_string(i));
  const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
  std::vector<StreamArm> arms = PlainArms([](int group, Stream&) { return group % 8 == 7 ? 1.3e-2 : 0.9e-2; });
  arms[0].by_regime.assign(60, 0.5);
  Stream stream(Seed::FromNumber(16));
  const Decision decision = PlayDecision(design, arms, none, stream).decisions[0];
  EXPECT_EQ(decision.kind, DecisionKind::kUnstable) << decision.note;
  EXPECT_GE(decision.restarts, 14);
}

TEST(Regret, AnotherReferenceThanTheStrongestIsNotAskedForEachKind) {
  DecisionDesign design = PlainDesign();
  design.references = {"slow", "reference"};
  design.regimes = {"one", "other"};
  const StreamNoise none = {.between = 0, .within = 0, .tails = 0};
  std::vector<StreamArm> arms = PlainArms(Constant(kReference / 1.2));
  arms.push_back({"slow", Constant(kReference * 3)});
  Stream stream(Seed::FromNumber(17));
  const Evidence evidence = PlayDecision(design, arms, none, stream);
  EXPECT_EQ(evidence.decisions[0].kind, DecisionKind::kFaster);
  EXPECT_TRUE(evidence.decisions[0].regimes.empty());
  EXPECT_EQ(evidence.decisions[1].kind, DecisionKind::kFaster);
  EXPECT_EQ(evidence.decisions[1].regimes.size(), 2U);
}

}  // namespace
}  // namespace assay
