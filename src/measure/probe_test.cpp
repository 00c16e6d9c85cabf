// SPDX-License-Identifier: Apache-2.0
#include "measure/probe.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "measure/environment.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A group of five probes on one processor, turned by hand.
double Play(ProbeLog& log, double chain, double adds = 10e-6, int processor = 0) {
  for (int i = 0; i < 5; ++i) log.Add({processor}, {{chain, adds}});
  return log.EndGroup().value_or(0);
}

TEST(ProbeLog, TellsASlowMachineByTheGroupsBefore) {
  ProbeLog log;
  EXPECT_EQ(Play(log, 20e-6), 0) << "the first has nothing to be compared with";
  EXPECT_EQ(Play(log, 20e-6), 0);
  EXPECT_NEAR(Play(log, 22e-6), 0.1, 1e-9);
  EXPECT_NEAR(Play(log, 20e-6, 12e-6), 0.2, 1e-9) << "whoever shares the pipes shows in the other work";
  EXPECT_EQ(Play(log, 19e-6), 0) << "faster than ever is not slower";
  // A boost that came once does not make all other groups slow.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Play(log, 20e-6), 0);
}

TEST(ProbeLog, ProcessorsNeedNotBeEqual) {
  ProbeLog log;
  EXPECT_EQ(Play(log, 20e-6, 10e-6, 0), 0);
  EXPECT_EQ(Play(log, 25e-6, 10e-6, 1), 0);
  EXPECT_EQ(Play(log, 25e-6, 10e-6, 1), 0);
  EXPECT_NEAR(Play(log, 25e-6, 10e-6, 0), 0.25, 1e-9);
  // Of a team the slowest counts.
  for (int i = 0; i < 3; ++i) log.Add({0, 1}, {{20e-6, 10e-6}, {50e-6, 10e-6}});
  EXPECT_NEAR(log.EndGroup().value_or(0), 1, 1e-9);
}

TEST(ProbeLog, AMachineThatStaysSlowerIsTheUsualOneAfterAWhile) {
  ProbeLog log;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Play(log, 20e-6), 0);
  int slow = 0;
  for (; slow < 20 && Play(log, 22e-6) > 0; ++slow) {
  }
  EXPECT_EQ(slow, 5);
  EXPECT_EQ(Play(log, 22e-6), 0);
}

TEST(ProbeLog, WhichProcessorsAGroupDrewDoesNotProlongThat) {
  ProbeLog log;
  for (int processor = 0; processor < 16; ++processor) EXPECT_EQ(Play(log, 20e-6, 10e-6, processor), 0);
  int slow = 0;
  for (int processor = 0; processor < 16; ++processor) slow += Play(log, 22e-6, 10e-6, processor) > 0 ? 1 : 0;
  EXPECT_EQ(slow, 5);
}

TEST(ProbeLog, FewProbesAndThoseThatAreNoTimesSayNothing) {
  ProbeLog log;
  Play(log, 20e-6);
  log.Add({0}, {{40e-6, 40e-6}});
  log.Add({0}, {{40e-6, 40e-6}});
  EXPECT_FALSE(log.EndGroup()) << "two are too few";
  for (const double none : {0.0, -1.0, kNaN}) {
    for (int i = 0; i < 5; ++i) log.Add({0}, {{none, none}});
    EXPECT_FALSE(log.EndGroup()) << none;
  }
  // A minority that met a stranger's time slice does not move the median.
  for (const double one : {20e-6, 90e-6, 20e-6, 90e-6, 20e-6}) log.Add({0}, {{one, 10e-6}});
  EXPECT_EQ(log.EndGroup(), 0);
  EXPECT_EQ(Play(log, kInfinity), kInfinity) << "what never ends is slow";
}

TEST(ProbeProcessors, GivesTimesOfEachAndCountsItsOwn) {
  const std::vector<int>& processors = AllowedProcessors();
  auto before = TakeCpuSnapshot(processors);
  ASSERT_TRUE(before.ok()) << before.error().message;
  const std::vector<ProbeTimes> times = ProbeProcessors(processors);
  auto after = TakeCpuSnapshot(processors);
  ASSERT_TRUE(after.ok());
  ASSERT_EQ(times.size(), processors.size());
  double least = 0;
  for (const ProbeTimes& one : times) {
    EXPECT_GT(one.chain, 0);
    EXPECT_GT(one.adds, 0);
    least += one.chain + one.adds;
  }
  EXPECT_GT(after.value().helper_seconds - before.value().helper_seconds, 0.5 * least);
}

}  // namespace
}  // namespace assay
