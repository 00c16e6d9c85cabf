// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/mix.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace assay {
namespace {

Template Grid() {
  Template t;
  t.name = "grid";
  t.source = "source of grid";
  t.source_hash = Sha256(t.source);
  for (const char* name : {"AA", "BB", "CC", "DD"}) {
    Knob knob{name, {}, true, "0", {}};
    for (int value = 0; value < 12; ++value) knob.values.push_back(std::to_string(value));
    t.knobs.push_back(knob);
  }
  return t;
}

int At(const Candidate& candidate, const char* knob) { return std::stoi(candidate.knobs.at(knob)); }

// Nothing where the candidate does not run.
using World = std::function<std::optional<double>(const Candidate&)>;

struct Played {
  std::vector<Attempt> attempts;
  double best = 1e9;
  int refused = 0;
};

Played Play(const World& world, int budget, uint64_t seed) {
  const Space space = std::move(Space::Make({Grid()})).value();
  Mix mix(space, Seed::FromNumber(seed));
  Played played;
  std::optional<int64_t> incumbent;
  while (static_cast<int>(played.attempts.size()) < budget) {
    const int left = budget - static_cast<int>(played.attempts.size());
    const auto proposals = mix.Propose({&played.attempts, incumbent, left}, std::min(4, left));
    for (const Proposal& proposal : proposals.value()) {
      Attempt attempt;
      attempt.ordinal = static_cast<int64_t>(played.attempts.size()) + 1;
      attempt.proposal = proposal;
      if (const auto seconds = world(proposal.candidate)) {
        Estimate estimate;
        estimate.seconds = *seconds;
        attempt.estimates.push_back(estimate);
        if (*seconds < played.best) played.best = *seconds, incumbent = attempt.ordinal;
      } else {
        attempt.outcome = OutcomeKind::kRejected;
        attempt.rejected = Rejected{.stage = Stage::kBuild, .reason = Reason::kBuildFailed};
        ++played.refused;
      }
      played.attempts.push_back(std::move(attempt));
    }
  }
  return played;
}

double Bowl(const Candidate& c) {
  const auto part = [&](const char* knob, int centre) { return (At(c, knob) - centre) * (At(c, knob) - centre); };
  return 1 + 0.1 * (part("AA", 7) + part("BB", 2) + part("CC", 9) + part("DD", 4));
}

TEST(Mix, FindsTheBottomOfABowl) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) found += Play(Bowl, 100, seed).best <= 1.05 ? 1 : 0;
  EXPECT_GE(found, 8);  // of 20736 points one is that good; a hundred at random have it once in two hundred
}

TEST(Mix, ShunsWhereNothingRuns) {
  // A quarter of the space does not build, and would be the fastest.
  const World world = [](const Candidate& c) -> std::optional<double> {
    if (At(c, "AA") >= 9) return std::nullopt;
    return 1 + 0.1 * (11 - At(c, "AA")) + 0.05 * At(c, "BB") + 0.05 * At(c, "CC");
  };
  int refused = 0, late = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const Played played = Play(world, 120, seed);
    refused += played.refused;
    for (size_t i = 60; i < played.attempts.size(); ++i) late += played.attempts[i].rejected ? 1 : 0;
    EXPECT_LE(played.best, 1.45);
  }
  EXPECT_LT(late, 6 * 60 / 5) << "of the second half less than a fifth; " << refused << " refused in all";
}

TEST(Mix, HasSomeOfEachAndSaysWhichAndFromWhom) {
  const Played played = Play(Bowl, 120, 3);
  std::map<std::string, int> by;
  for (const Attempt& attempt : played.attempts) {
    by[attempt.proposal.proposer] += 1;
    const bool local = attempt.proposal.proposer == "any value" || attempt.proposal.proposer == "one step" ||
                       attempt.proposal.proposer == "two values" || attempt.proposal.proposer == "crossover";
    EXPECT_EQ(attempt.proposal.parents.empty(), !local) << attempt.proposal.proposer;
    for (const int64_t parent : attempt.proposal.parents) EXPECT_LT(parent, attempt.ordinal);
  }
  EXPECT_EQ(by["default"], 1);
  EXPECT_EQ(by["start"], 10);
  EXPECT_GT(by["model"], 30);
  EXPECT_GT(by["explorer"], 5);
  EXPECT_GT(by["any value"] + by["one step"] + by["two values"] + by["crossover"], 30);
}

// What is proposed follows from the attempts alone: another object that is shown half a campaign goes on alike.
TEST(Mix, GoesOnFromTheAttemptsAlone) {
  const Space space = std::move(Space::Make({Grid()})).value();
  const Played played = Play(Bowl, 60, 5);
  Mix first(space, Seed::FromNumber(5)), other(space, Seed::FromNumber(5));
  const std::vector<Attempt> early(played.attempts.begin(), played.attempts.begin() + 20);
  ASSERT_TRUE(first.Propose({&early, 1, 40}, 4).ok());  // one of the two has been asked before
  const auto a = first.Propose({&played.attempts, 1, 40}, 8), b = other.Propose({&played.attempts, 1, 40}, 8);
  ASSERT_EQ(a.value().size(), 8U);
  ASSERT_EQ(b.value().size(), 8U);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(a.value()[i].candidate.id, b.value()[i].candidate.id);
}

}  // namespace
}  // namespace assay
