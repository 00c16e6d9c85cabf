// SPDX-License-Identifier: Apache-2.0
#include "measure/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "measure/testing/streams.h"

namespace assay {
namespace {

using testing::Constant;
using testing::PlayGroup;
using testing::StreamArm;
using testing::StreamNoise;

const StreamNoise kNone = {.between = 0, .within = 0, .tails = 0};

struct Ran {
  std::vector<size_t> sizes;  // of the groups
  std::vector<Race::Place> order;
};
// `milliseconds` of each contender; `refused` leaves in its first group.
Ran Play(const std::map<std::string, double>& milliseconds, const StreamNoise& noise, uint64_t seed,
         const std::string& refused = "") {
  std::vector<std::string> names;
  for (const auto& [name, ms] : milliseconds) names.push_back(name);
  Race race(names, "w");
  Stream stream(Seed::FromNumber(seed));
  Ran run;
  for (auto standing = race.Standing(); standing.size() >= 2; standing = race.Standing()) {
    run.sizes.push_back(standing.size());
    std::vector<StreamArm> arms;
    for (const std::string& name : standing) {
      if (name != refused) arms.push_back({name, Constant(1e-3 * milliseconds.at(name))});
    }
    std::vector<RawUnit> units;
    PlayGroup(static_cast<int>(run.sizes.size()), arms, noise, stream, "w", units);
    const std::vector<std::string> gone = {refused};
    race.Add(units, gone);
  }
  run.order = race.Order();
  return run;
}

std::vector<std::string> Names(const std::vector<Race::Place>& order) {
  std::vector<std::string> names;
  for (const Race::Place& place : order) names.push_back(place.name);
  return names;
}

TEST(Race, HalvesAndOrdersByTime) {
  const Ran run = Play({{"a", 8}, {"b", 1}, {"c", 2}, {"d", 4}, {"e", 3}, {"f", 9}}, kNone, 1);
  // Two groups for six, then three are left; the third group shows two of them three losses behind.
  EXPECT_EQ(run.sizes, (std::vector<size_t>{6, 6, 3}));
  EXPECT_EQ(Names(run.order), (std::vector<std::string>{"b", "c", "e", "d", "a", "f"}));
  EXPECT_FALSE(run.order[0].early);
  EXPECT_TRUE(run.order[1].early);
  EXPECT_FALSE(run.order[3].early) << "halved away, not hopeless";
  EXPECT_GT(run.order[0].log_ratio, 0);
  EXPECT_LT(run.order[1].log_ratio, 0);
}

TEST(Race, EqualsRunToTheEnd) {
  const StreamNoise noise = {.between = 0.01, .within = 0.01, .tails = 0};
  size_t longest = 0;
  for (uint64_t seed = 0; seed < 20; ++seed)
    longest = std::max(longest, Play({{"a", 1}, {"b", 1}}, noise, seed).sizes.size());
  EXPECT_EQ(longest, 14U);  // 2 + 4 + 8
}

TEST(Race, TheRefusedTakeNoPartAndNoPlace) {
  const Ran run = Play({{"a", 1}, {"b", 2}, {"c", 3}}, kNone, 2, "a");
  EXPECT_EQ(run.sizes.front(), 3U);
  EXPECT_EQ(run.sizes[1], 2U);
  EXPECT_EQ(Names(run.order), (std::vector<std::string>{"b", "c"}));
}

TEST(Race, OneContenderNeedsNoGroup) {
  Race race({"alone"}, "w");
  EXPECT_LT(race.Standing().size(), 2U);
  EXPECT_EQ(Names(race.Order()), (std::vector<std::string>{"alone"}));
  EXPECT_TRUE(Race({}, "w").Order().empty());
}

TEST(Race, AnotherWorkloadOrdersNothing) {
  Race race({"a", "b"}, "headline");
  Stream stream(Seed::FromNumber(3));
  std::vector<RawUnit> units;
  PlayGroup(0, {{"a", Constant(1e-3)}, {"b", Constant(2e-3)}}, kNone, stream, "other", units);
  race.Add(units, {});
  EXPECT_EQ(race.Order().front().groups, 0);
}

}  // namespace
}  // namespace assay
