// SPDX-License-Identifier: Apache-2.0
#include "measure/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace assay {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(CallsPerUnit, FollowsTimeMemoryAndCache) {
  const UnitLimits limits;
  const struct {
    const char* name;
    double seconds;
    int64_t bytes, warm;
    int calls;
  } cases[] = {
      {"2 ms: alone", 2e-3, kMiB, kMiB, 1},
      {"just below 2 ms: two", 1.99e-3, kMiB, kMiB, 2},
      {"301 us: ten", 301e-6, kMiB, kMiB, 10},
      {"10 us: at most 64", 10e-6, 1024, 1024, 64},
      {"10 us with 1 MiB: what half the cache holds", 10e-6, kMiB, kMiB, 16},
      {"the same, cold: memory for slots is the limit", 10e-6, kMiB, 0, 64},
      {"cold and large: 256 MiB of slots", 10e-6, 8 * kMiB, 0, 32},
      {"cold and large: two from half a millisecond on", 0.5e-3, 4 * kMiB, 0, 2},
      {"cold and large, a little less: seven", 0.499e-3, 4 * kMiB, 0, 7},
      {"cold and small: six", 0.5e-3, 4 * kMiB - 1, 0, 6},
      {"one call overflows the cache by itself", 1.5e-3, 20 * kMiB, 20 * kMiB, 2},
      {"one call overflows the slots by itself", 1e-3, 300 * kMiB, 0, 1},
      {"cold weights of 7 MiB: what is warm is the limit", 10e-6, 8 * kMiB, kMiB, 16},
      {"no bytes at all", 1e-6, 0, 0, 64},
      {"no time at all", 0, 1024, 1024, 64},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(CallsPerUnit(c.seconds, c.bytes, c.warm, limits), c.calls);
  }
}

TEST(UnitsFor, SlowArmsGetFewUnits) {
  const struct {
    const char* name;
    double seconds, fastest;
    int calls;
    Depth depth;
    ArmUnits expected;
  } cases[] = {
      {"the fastest, long units", 20e-3, 20e-3, 1, Depth::kDecide, {6, 1, 0}},
      {"the fastest, short units", 1e-3, 1e-3, 3, Depth::kDecide, {12, 3, 12}},
      {"three times slower is still full", 60e-3, 20e-3, 1, Depth::kDecide, {6, 1, 0}},
      {"more than three times: two", 61e-3, 20e-3, 1, Depth::kDecide, {2, 1, 0}},
      {"more than eight times: one", 161e-3, 20e-3, 1, Depth::kDecide, {1, 1, 0}},
      {"sixteen times, shared: half the calls", 16e-3, 1e-3, 4, Depth::kDecide, {1, 2, 2}},
      {"estimates are short", 2e-3, 2e-3, 1, Depth::kEstimate, {4, 1, 0}},
      {"shorter of what takes long", 20e-3, 20e-3, 1, Depth::kEstimate, {3, 1, 0}},
      {"and their slow arms shorter", 70e-3, 20e-3, 1, Depth::kEstimate, {1, 1, 0}},
      {"short groups: five of each", 1e-3, 1e-3, 3, Depth::kCensus, {5, 3, 0}},
      {"also of a slower arm", 8e-3, 1e-3, 3, Depth::kCensus, {5, 3, 0}},
      {"three where a unit is longer than a time slice", 7e-3, 6e-3, 1, Depth::kCensus, {3, 1, 0}},
      {"three of a very slow one, and fewer calls", 16e-3, 1e-3, 4, Depth::kCensus, {3, 2, 0}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const ArmUnits units = UnitsFor(c.seconds, c.fastest, c.calls, c.depth);
    EXPECT_EQ(units.units, c.expected.units);
    EXPECT_EQ(units.calls, c.expected.calls);
    EXPECT_EQ(units.gated, c.expected.gated);
  }
}

TEST(BalancedRounds, GiveEachArmItsUnitsAndMirrorTheOrder) {
  Stream stream(Seed::FromNumber(1));
  for (int repeat = 0; repeat < 50; ++repeat) {
    const std::vector<int> counts = {6, 6, 2, 1, 6, 0};
    const auto rounds = BalancedRounds(counts, stream);
    ASSERT_EQ(rounds.size(), 6U);
    std::vector<int> seen(counts.size(), 0);
    for (const auto& round : rounds) {
      for (const int arm : round) ++seen[static_cast<size_t>(arm)];
    }
    EXPECT_EQ(seen, counts);
    // Two full arms: whoever led in a round trails in the next.
    for (size_t round = 0; round + 1 < rounds.size(); round += 2) {
      const auto leads = [&](size_t r) {
        return std::find(rounds[r].begin(), rounds[r].end(), 0) < std::find(rounds[r].begin(), rounds[r].end(), 1);
      };
      EXPECT_NE(leads(round), leads(round + 1));
    }
  }
}

TEST(BalancedRounds, DrawTheOrder) {
  Stream stream(Seed::FromNumber(2));
  std::set<std::vector<int>> first;
  for (int repeat = 0; repeat < 100; ++repeat) first.insert(BalancedRounds(std::vector<int>{2, 2, 2}, stream).front());
  EXPECT_EQ(first.size(), 6U);
}

TEST(DrawSlots, LeavesADecoyAndNeverRepeatsASlot) {
  Stream stream(Seed::FromNumber(3));
  std::set<size_t> decoys;
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::vector<size_t> slots = DrawSlots(5, 4, stream);
    EXPECT_EQ(std::set<size_t>(slots.begin(), slots.end()).size(), 4U);
    decoys.insert(10 - std::accumulate(slots.begin(), slots.end(), size_t{0}));
  }
  EXPECT_EQ(decoys.size(), 5U);
}

}  // namespace
}  // namespace assay
