// SPDX-License-Identifier: Apache-2.0
#include "measure/floor.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

MachineRates Rates() {
  MachineRates rates;
  rates.f32_peak_1t = 100e9;
  rates.f32_peak = 200e9;
  rates.copy_bytes = 20e9;
  rates.triad_bytes = 25e9;
  return rates;
}

Work Of(double operations, double bytes, CacheState state, int threads = 1, std::string unit = "f32") {
  return {.workload = "w",
          .operations = operations,
          .bytes = bytes,
          .unit = std::move(unit),
          .state = state,
          .threads = threads,
          .last_level_bytes = 32'000'000};
}

TEST(ReferenceFloor, TakesTheSlowerOfComputingAndMoving) {
  const struct {
    const char* name;
    Work work;
    double seconds;
    const char* bound_by;
  } cases[] = {
      {"computing, one thread", Of(1e9, 1e6, CacheState::kHot), 10e-3, "f32 peak"},
      {"computing, all threads", Of(1e9, 1e6, CacheState::kHot, 2), 5e-3, "f32 peak"},
      {"moving, cold: the better of copy and triad", Of(1e6, 250e6, CacheState::kCold), 10e-3, "bandwidth"},
      {"hot and in cache: moving is free", Of(1e6, 30e6, CacheState::kHot), 10e-6, "f32 peak"},
      {"hot, beyond the cache: only what exceeds it", Of(1e6, 57e6, CacheState::kHot), 1e-3, "bandwidth"},
      {"another unit is not calibrated", Of(1e12, 25e6, CacheState::kCold, 1, "int8"), 1e-3, "bandwidth"},
      {"nothing binds", Of(1e12, 25e6, CacheState::kHot, 1, "int8"), 0, "nothing that is calibrated"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Floor floor = ReferenceFloor(c.work, Rates());
    EXPECT_NEAR(floor.seconds, c.seconds, 1e-9);
    EXPECT_EQ(floor.bound_by, c.bound_by);
  }
}

TEST(Implausible, RefusesBelowTheImpossibleFloorAndShowsTheArithmetic) {
  const Work computing = Of(1e9, 1e6, CacheState::kHot);
  EXPECT_FALSE(Implausible(9.01e-3, computing, Rates()));  // 10 % of slack
  const auto why = Implausible(8.99e-3, computing, Rates());
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("1000000000 operations / 100.0 G/s x 0.90"), std::string::npos) << *why;

  // A cold workload gets the cache credit too: (250 - 32) MB / 25 GB/s x 0.9 = 7.85 ms.
  const Work moving = Of(1e6, 250e6, CacheState::kCold);
  EXPECT_FALSE(Implausible(7.86e-3, moving, Rates()));
  EXPECT_TRUE(Implausible(7.83e-3, moving, Rates()));
}

}  // namespace
}  // namespace assay
