// SPDX-License-Identifier: Apache-2.0
//
// The operating characteristics of the decision: whole campaigns on synthetic streams, through the same race and the
// same decision as live ones.  A test runs few; bench/decisions.sh runs 20,000 and prints the table of docs/clock.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "measure/figures.h"
#include "measure/race.h"
#include "measure/testing/streams.h"
#include "numerics/statistics.h"

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
constexpr int kCandidates = 22;

// Heavy tails at both levels: one unit in ten takes five times as long, one restart in ten has five times the luck.
StreamNoise HeavyTails() { return {.between = 0.005, .within = 0.01, .tails = 0.1, .group_tails = 0.1}; }

int Campaigns(int otherwise) {
  const char* asked = std::getenv("ASSAY_SIMULATE");
  return asked == nullptr ? otherwise : std::atoi(asked);
}

struct Tally {
  std::map<DecisionKind, int> kinds;
  std::vector<double> groups, short_groups;
  int campaigns = 0;

  double Share(DecisionKind kind) const {
    const auto found = kinds.find(kind);
    return found == kinds.end() ? 0 : static_cast<double>(found->second) / campaigns;
  }
};

struct Played {
  DecisionKind kind = DecisionKind::kUndecided;
  int groups = 0, short_groups = 0;
};

Tally Repeat(int campaigns, uint64_t seed, const std::function<Played(Stream&)>& play) {
  Tally tally;
  std::mutex guard;
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i = next++; i < campaigns; i = next++) {
      Stream stream(Seed::FromNumber(seed).Derive("campaign", static_cast<uint64_t>(i)));
      const Played played = play(stream);
      const std::lock_guard lock(guard);
      ++tally.kinds[played.kind];
      tally.groups.push_back(played.groups);
      tally.short_groups.push_back(played.short_groups);
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  tally.campaigns = campaigns;
  return tally;
}

Played Decide(const std::function<double(int, Stream&)>& candidate, const StreamNoise& noise, Stream& stream) {
  std::vector<RawUnit> units;
  const Evidence evidence = PlayDecision(PlainDesign(), PlainArms(candidate, kReference), noise, stream, &units);
  std::set<int> census;
  for (const RawUnit& unit : units) {
    if (unit.census) census.insert(unit.group);
  }
  const Decision& decision = evidence.decisions.at(0);
  return {decision.kind, decision.groups, static_cast<int>(census.size())};
}

// The best of many candidates by the race, then the decision on groups of its own.
Played Campaign(const std::function<std::function<double(int, Stream&)>(int)>& candidates, const StreamNoise& noise,
                Stream& stream) {
  std::vector<std::string> names;
  std::map<std::string, std::function<double(int, Stream&)>> by_name;
  for (int i = 0; i < kCandidates; ++i) {
    names.push_back("candidate " + std::to_string(i));
    by_name[names.back()] = candidates(i);
  }
  Race race(names, "w");
  int group = 0;
  for (auto standing = race.Standing(); standing.size() >= 2; standing = race.Standing()) {
    std::vector<StreamArm> arms;
    for (const std::string& name : standing) arms.push_back({name, by_name.at(name)});
    std::vector<RawUnit> units;
    PlayGroup(group++, arms, noise, stream, "w", units);
    race.Add(units, {});
  }
  return Decide(by_name.at(race.Order().front().name), noise, stream);
}

void Print(const std::string& what, const Tally& tally) {
  std::vector<double> groups = tally.groups;
  std::sort(groups.begin(), groups.end());
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.0f} / {:.0f} | {:.0f} |\n", what,
             tally.campaigns, 100 * tally.Share(DecisionKind::kFaster), 100 * tally.Share(DecisionKind::kSlower),
             100 * tally.Share(DecisionKind::kSame), 100 * tally.Share(DecisionKind::kUndecided),
             100 * tally.Share(DecisionKind::kUnstable), Median(groups), groups[groups.size() * 9 / 10],
             Median(tally.short_groups));
}

// Of `tries` at a true share of `share`: more than this would be seen once in a thousand runs.
int Allowed(int tries, double share) {
  return static_cast<int>(std::ceil(tries * share + 3.1 * std::sqrt(tries * share * (1 - share)) + 1));
}

// The spread of a group's ratio on these streams, from its median absolute deviation.
double GroupSigma(const StreamNoise& noise) {
  Stream stream(Seed::FromNumber(99));
  std::vector<RawUnit> units;
  for (int group = 0; group < 400; ++group)
    PlayGroup(group, PlainArms(Constant(kReference)), noise, stream, "w", units);
  std::vector<double> ratios = Figures(units).LogRatios("w", "reference", "candidate");
  for (double& ratio : ratios) ratio = std::fabs(ratio);
  return 1.4826 * Median(ratios);
}

TEST(Simulation, NullCampaignsClaimNothing) {
  const int campaigns = Campaigns(60);
  const Tally tally = Repeat(campaigns, 1, [](Stream& stream) {
    return Campaign([](int) { return Constant(kReference); }, HeavyTails(), stream);
  });
  Print("22 equal candidates, heavy tails", tally);
  EXPECT_LE(tally.Share(DecisionKind::kFaster) * campaigns, Allowed(campaigns, 0.01));
  EXPECT_LE(tally.Share(DecisionKind::kSlower) * campaigns, Allowed(campaigns, 0.01));
}

TEST(Simulation, AnExcessOfOneAndAHalfSigmaIsFound) {
  const double sigma = GroupSigma(HeavyTails());
  const double seconds = kReference / std::exp(kLeastMargin + 1.5 * sigma);
  const int campaigns = Campaigns(200);
  const Tally tally =
      Repeat(campaigns, 2, [&](Stream& stream) { return Decide(Constant(seconds), HeavyTails(), stream); });
  Print(fmt::format("margin of 1 % + 1.5 sigma ({:.2f} %)", 100 * sigma), tally);
  EXPECT_GE(tally.Share(DecisionKind::kFaster) * campaigns, campaigns - Allowed(campaigns, 0.05));
  EXPECT_EQ(tally.Share(DecisionKind::kSlower), 0);
}

TEST(Simulation, APlantedSlowdownOfThreePercentIsFound) {
  const int campaigns = Campaigns(200);
  const Tally tally =
      Repeat(campaigns, 3, [](Stream& stream) { return Decide(Constant(kReference * 1.03), HeavyTails(), stream); });
  Print("3 % slower", tally);
  EXPECT_GE(tally.Share(DecisionKind::kSlower) * campaigns, campaigns - Allowed(campaigns, 0.10));
  EXPECT_EQ(tally.Share(DecisionKind::kFaster), 0);
}

// A kernel that burns time in most of its bad restarts, hoping that they are drawn again.
TEST(Simulation, SpoiltRestartsGainNothing) {
  const auto spoils = [](int, Stream& s) {
    const double luck = 0.01 * s.Normal();
    return kReference * std::exp(luck) * (luck > 0 && s.Unit() < 0.8 ? 1.5 : 1.0);
  };
  const int campaigns = Campaigns(200);
  const Tally tally = Repeat(campaigns, 4, [&](Stream& stream) { return Decide(spoils, HeavyTails(), stream); });
  Print("equal, spoils 80 % of its bad restarts", tally);
  EXPECT_LE(tally.Share(DecisionKind::kFaster) * campaigns, Allowed(campaigns, 0.01));
}

TEST(Simulation, SlowInATenthOfItsRestartsIsNotFaster) {
  const int campaigns = Campaigns(200);
  for (const double gain : {1.0, 1.03, 1.08, 1.2}) {
    const auto two_faced = [gain](int, Stream& s) { return s.Unit() < 0.9 ? kReference / gain : kReference * 1.3; };
    const Tally tally = Repeat(campaigns, 5, [&](Stream& stream) { return Decide(two_faced, HeavyTails(), stream); });
    Print(fmt::format("30 % slower in 10 % of its restarts, else {:.0f} % faster", 100 * (gain - 1)), tally);
    EXPECT_LE(tally.Share(DecisionKind::kFaster) * campaigns, Allowed(campaigns, 0.01)) << gain;
  }
}

}  // namespace
}  // namespace assay
