// SPDX-License-Identifier: Apache-2.0
#include "search/strategy.h"

#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

Expression Parse(const char* text) {
  auto parsed = Expression::Parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return std::move(parsed).value();
}

Template Blocked() {
  Template t;
  t.name = "blocked";
  t.source = "source of blocked";
  t.source_hash = Sha256(t.source);
  t.knobs = {{"MR", {"2", "4", "8", "16"}, true, "4", {}},
             {"NV", {"1", "2", "4"}, true, "2", {}},
             {"PACK", {"none", "panels"}, false, "none", {}},
             {"AHEAD", {"0", "1", "2"}, true, "0", Parse("PACK == 'panels'")}};
  t.when = {Parse("MR * NV <= 16")};
  t.flags = {{{"-O3", "-O2"}}, {{"none", "-funroll-loops"}}};
  return t;
}

Space TwoFamilies() {
  Template second = Blocked();
  second.name = "other";
  second.source = "source of other";
  second.source_hash = Sha256(second.source);
  return std::move(Space::Make({Blocked(), second})).value();
}

bool LegalByHand(const Candidate& c) { return std::stoi(c.knobs.at("MR")) * std::stoi(c.knobs.at("NV")) <= 16; }

TEST(Space, RandomPointsAreLegalAndCoverTheSpace) {
  const Space space = TwoFamilies();
  Stream stream(Seed::FromNumber(1));
  std::set<Digest> seen;
  for (int i = 0; i < 12000; ++i) {
    const Candidate c = space.ToCandidate(*space.Random(stream));
    ASSERT_TRUE(LegalByHand(c));
    // A knob whose condition is false is left out of the name.
    EXPECT_EQ(c.knobs.contains("AHEAD"), c.knobs.at("PACK") == "panels");
    seen.insert(c.id);
  }
  // 9 of 12 (MR, NV) pairs, 1 + 3 packings, 4 flag choices, 2 families.
  EXPECT_EQ(seen.size(), 9U * 4 * 4 * 2);
}

TEST(Space, CandidatesFindTheirPointAgain) {
  const Space space = TwoFamilies();
  Stream stream(Seed::FromNumber(2));
  for (int i = 0; i < 200; ++i) {
    const Point point = *space.Random(stream);
    EXPECT_EQ(space.PointOf(space.ToCandidate(point)), point);
  }
  Candidate stranger;
  stranger.source = "something else";
  EXPECT_FALSE(space.PointOf(NamedByContent(stranger)).has_value());
}

TEST(Space, OneStepGoesToANeighbour) {
  const Space space = TwoFamilies();
  Stream stream(Seed::FromNumber(3));
  const Point from = *space.Defaults(0);
  for (int i = 0; i < 300; ++i) {
    const Point to = *space.Mutate(from, 1, true, stream);
    int moved = 0;
    for (size_t k = 0; k < 2; ++k) {
      const auto distance = static_cast<int>(to.at[k]) - static_cast<int>(from.at[k]);
      EXPECT_LE(std::abs(distance), 1);
      moved += distance != 0 ? 1 : 0;
    }
    EXPECT_LE(moved, 1);
    EXPECT_EQ(to.family, from.family);
    EXPECT_NE(to, from);
  }
}

TEST(Space, WithoutALegalPointItSaysWhichFile) {
  Template impossible = Blocked();
  impossible.path = "templates/blocked.cpp";
  impossible.when.push_back(Parse("MR >= 32"));
  const auto space = Space::Make({impossible});
  ASSERT_FALSE(space.ok());
  EXPECT_EQ(space.error().message, "templates/blocked.cpp: no legal point is left: \"MR >= 32\" holds nowhere");
  EXPECT_FALSE(Space::Make({}).ok());
}

// Plays a strategy on a made-up landscape and returns the proposals' names in order.
std::vector<Digest> Play(const char* name, uint64_t seed, int budget, int round_size, bool check_parents) {
  const Space space = TwoFamilies();
  auto strategy = std::move(MakeStrategy(name, space, Seed::FromNumber(seed))).value();
  std::vector<Attempt> attempts;
  std::optional<int64_t> incumbent;
  double best = 1e9;
  while (static_cast<int>(attempts.size()) < budget) {
    const auto proposals = strategy->Propose({&attempts, incumbent, budget - static_cast<int>(attempts.size())},
                                             std::min(round_size, budget - static_cast<int>(attempts.size())));
    EXPECT_TRUE(proposals.ok());
    if (proposals.value().empty()) break;
    for (const Proposal& proposal : proposals.value()) {
      if (check_parents && !proposal.parents.empty()) {
        EXPECT_EQ(proposal.parents, std::vector<int64_t>{*incumbent});
      }
      Attempt attempt;
      attempt.ordinal = static_cast<int64_t>(attempts.size()) + 1;
      attempt.proposal = proposal;
      attempts.push_back(attempt);
    }
    for (const Attempt& attempt : attempts) {
      const double seconds = 100.0 / std::stod(attempt.proposal.candidate.knobs.at("MR"));
      if (seconds < best) {
        best = seconds;
        incumbent = attempt.ordinal;
      }
    }
  }
  std::vector<Digest> names;
  for (const Attempt& attempt : attempts) names.push_back(attempt.proposal.candidate.id);
  return names;
}

TEST(Strategy, TheSameSeedProposesTheSame) {
  for (const StrategyEntry& entry : Strategies()) {
    SCOPED_TRACE(entry.name);
    const auto first = Play(entry.name.data(), 7, 60, 4, true);
    EXPECT_EQ(first, Play(entry.name.data(), 7, 60, 4, true));
    EXPECT_NE(first, Play(entry.name.data(), 8, 60, 4, true));
    EXPECT_EQ(std::set<Digest>(first.begin(), first.end()).size(), first.size()) << "proposed twice";
    EXPECT_EQ(first.size(), 60U);
  }
}

TEST(Strategy, DefaultsComeFirstAndTheSpaceEnds) {
  const Space space = TwoFamilies();
  for (const StrategyEntry& entry : Strategies()) {
    SCOPED_TRACE(entry.name);
    const auto all = Play(entry.name.data(), 1, 100000, 10, false);
    ASSERT_GE(all.size(), 200U);
    EXPECT_LE(all.size(), 288U);
    EXPECT_EQ(all[0], space.ToCandidate(*space.Defaults(0)).id);
    EXPECT_EQ(all[1], space.ToCandidate(*space.Defaults(1)).id);
  }
}

TEST(Strategy, ThreeOfTenExploreOnceThereIsAParent) {
  const Space space = TwoFamilies();
  auto strategy = std::move(MakeStrategy("three-explorers-seven-refiners", space, Seed::FromNumber(5))).value();
  std::vector<Attempt> attempts;
  Attempt parent;
  parent.ordinal = 1;
  parent.proposal.candidate = space.ToCandidate(*space.Defaults(0));
  attempts.push_back(parent);
  parent.ordinal = 2;
  parent.proposal.candidate = space.ToCandidate(*space.Defaults(1));
  attempts.push_back(parent);
  const auto proposals = strategy->Propose({&attempts, 1, 50}, 30);
  ASSERT_TRUE(proposals.ok());
  int explorers = 0;
  for (const Proposal& proposal : proposals.value()) explorers += proposal.proposer == "explorer" ? 1 : 0;
  EXPECT_EQ(explorers, 9);
}

TEST(Strategy, AnUnknownNameListsTheKnownOnes) {
  const auto strategy = MakeStrategy("magic", TwoFamilies(), Seed::FromNumber(1));
  ASSERT_FALSE(strategy.ok());
  EXPECT_NE(strategy.error().message.find("random"), std::string::npos);
}

}  // namespace
}  // namespace assay
