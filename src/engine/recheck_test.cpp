// SPDX-License-Identifier: Apache-2.0
#include "engine/recheck.h"

#include <gtest/gtest.h>

#include "support/fake_tools.h"

namespace assay {
namespace {

constexpr const char* kGate = "2";

Campaign Claimed(const char* fate, const Contract& contract) {
  Campaign campaign;
  campaign.id = "c1";
  campaign.contract_hash = contract.hash;
  campaign.versions = {{"gate", "1"}, {"g++", "g++ 12"}};
  for (const char* one : {"good", fate}) {
    Attempt attempt;
    attempt.ordinal = static_cast<int64_t>(campaign.attempts.size() + 1);
    attempt.proposal.candidate.source = one;
    attempt.proposal.candidate.knobs = {{"FATE", one}, {"SPEED", "1"}};
    attempt.proposal.candidate = NamedByContent(attempt.proposal.candidate);
    campaign.attempts.push_back(attempt);
  }
  campaign.incumbent = Incumbent{};
  campaign.incumbent->attempt = 2;
  campaign.incumbent->examined = true;
  return campaign;
}

struct Again {
  FakeWorld world;
  Contract contract;
  Result<Recheck> Prove(const Campaign& campaign) {
    FakeBuilder builder(world);
    FakeGate gate(world);
    return ProveAgain(contract, campaign, {{"gate", kGate}, {"g++", "g++ 12"}}, builder, gate);
  }
};

TEST(ProveAgain, GoesThroughTheWholeGateAndSaysWhereAClaimFell) {
  const struct {
    const char* fate;
    std::optional<Stage> stage;
    size_t asked;  // build, screen, verify, exam
  } cases[] = {{"good", std::nullopt, 4},
               {"no_build", Stage::kBuild, 1},
               {"screen", Stage::kScreen, 2},
               {"verify", Stage::kVerify, 3},
               {"exam", Stage::kExam, 4}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.fate);
    Again again;
    const auto recheck = again.Prove(Claimed(c.fate, again.contract));
    ASSERT_TRUE(recheck.ok()) << recheck.error().message;
    EXPECT_EQ(recheck.value().rejected.has_value(), c.stage.has_value());
    if (c.stage) {
      EXPECT_EQ(recheck.value().rejected->stage, *c.stage);
    }
    EXPECT_EQ(recheck.value().attempt, 2);
    EXPECT_EQ(recheck.value().versions.at("gate"), kGate);
    EXPECT_EQ(again.world.asked.size(), c.asked);
  }
}

TEST(ProveAgain, NothingIsKnownOfAClaimThatCannotBeProvedAgain) {
  Again again;
  Campaign campaign = Claimed("good", again.contract);
  campaign.contract_hash = "another";
  EXPECT_NE(again.Prove(campaign).error().message.find("another version"), std::string::npos);
  campaign = Claimed("good", again.contract);
  campaign.incumbent->examined = false;
  EXPECT_NE(again.Prove(campaign).error().message.find("claims nothing"), std::string::npos);
  campaign = Claimed("good", again.contract);
  campaign.incumbent->attempt = 9;
  EXPECT_EQ(again.Prove(campaign).error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(again.world.asked.empty());
}

TEST(ProvedUnder, TheGateAndTheCompilersBearOnAVerdictAndTheLastProofCounts) {
  const Contract contract;
  Campaign campaign = Claimed("good", contract);
  EXPECT_TRUE(ProvedUnder(campaign, {{"gate", "1"}, {"g++", "g++ 12"}, {"openblas", "0.3.21"}}));
  EXPECT_FALSE(ProvedUnder(campaign, {{"gate", "2"}, {"g++", "g++ 12"}}));
  EXPECT_FALSE(ProvedUnder(campaign, {{"gate", "1"}, {"g++", "g++ 13"}}));
  EXPECT_FALSE(ProvedUnder(campaign, {{"gate", "1"}, {"g++", "g++ 12"}, {"clang++", "14"}}));
  Recheck recheck;
  recheck.versions = {{"gate", "2"}, {"g++", "g++ 12"}};
  campaign.rechecks.push_back(recheck);
  EXPECT_TRUE(ProvedUnder(campaign, recheck.versions));
  EXPECT_FALSE(ProvedUnder(campaign, campaign.versions));
  EXPECT_EQ(campaign.Retraction(), nullptr);
  campaign.rechecks.back().rejected = FakeWorld::Refusal(Stage::kExam, Reason::kWrongAnswer);
  EXPECT_NE(campaign.Retraction(), nullptr);
  // An unfair refusal that was mended: the claim stands again, and both rows stay.
  campaign.rechecks.push_back(recheck);
  EXPECT_EQ(campaign.Retraction(), nullptr);
}

}  // namespace
}  // namespace assay
