// SPDX-License-Identifier: Apache-2.0
#include "measure/contestant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(WorkOutsideUnits, IsMoreCpuTimeThanTheUnitsHad) {
  constexpr int64_t kMs = 1'000'000;
  const struct {
    const char* name;
    int64_t cpu_ns, wall_ns;
    int threads;
    bool refused;
  } cases[] = {
      {"one thread that works all the time", 100 * kMs, 100 * kMs, 1, false},
      {"a team that works all the time", 400 * kMs, 100 * kMs, 4, false},
      {"a team that waits", 110 * kMs, 100 * kMs, 4, false},
      // Three percent and six milliseconds: clocks of threads that were stopped in mid tick.
      {"clocks that lag, just inside", 109 * kMs, 100 * kMs, 1, false},
      {"just outside", 110 * kMs, 100 * kMs, 1, true},
      {"a short unit beside a tick", 5 * kMs, 10'000, 1, false},
      {"one thread of the budget, two that worked", 200 * kMs, 100 * kMs, 1, true},
      {"the same, with a budget of two", 200 * kMs, 100 * kMs, 2, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(WorkOutsideUnits(c.cpu_ns, c.wall_ns, c.threads).has_value(), c.refused);
  }
  EXPECT_THAT(*WorkOutsideUnits(200 * kMs, 100 * kMs, 1),
              testing::HasSubstr("200.000 ms of CPU time in units of 100.000 ms together with 1 thread"));
}

}  // namespace
}  // namespace assay
