// SPDX-License-Identifier: Apache-2.0
#include "measure/environment.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <limits>
#include <thread>
#include <vector>

#include "base/file.h"

namespace assay {
namespace {

using std::chrono::milliseconds;

TEST(Disturbed, AsksForMoreThanTheCountersCanErr) {
  const struct {
    const char* name;
    Disturbance seen;
    int processors;
    bool disturbed;
  } cases[] = {
      {"quiet", {1.0, 0, 0}, 1, false},
      {"two ticks say nothing", {0.1, 0.02, 0}, 1, false},
      {"just inside 5 %", {1.0, 0.069, 0}, 1, false},
      {"just outside", {1.0, 0.071, 0}, 1, true},
      {"on two processors there is twice as much", {1.0, 0.13, 0}, 2, false},
      {"just inside 2 % stolen", {1.0, 0, 0.039}, 1, false},
      {"stolen", {1.0, 0, 0.041}, 1, true},
      {"probes just inside 5 %", {1.0, 0, 0, 0.05}, 1, false},
      {"probes that took longer", {1.0, 0, 0, 0.051}, 1, true},
      {"on two processors no less", {1.0, 0, 0, 0.051}, 2, true},
      {"probes that are no number", {1.0, 0, 0, std::numeric_limits<double>::quiet_NaN()}, 1, true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Disturbed(c.seen, c.processors), c.disturbed);
  }
}

TEST(Disturbance, SaysWhichItWas) {
  const Disturbance quiet{2.0, 0.5, 0.25, 0.04}, slow{2.0, 0, 0, 0.123};
  EXPECT_EQ(quiet.Describe(), "other processes used 0.50 s of the measured cores in 2.00 s, the host took 0.25 s");
  EXPECT_NE(slow.Describe().find("fixed work of our own between the units took 12.3 % longer than usual"),
            std::string::npos)
      << slow.Describe();
}

TEST(Between, KnowsOurOwnTimeFromAStrangers) {
  CpuSnapshot before, after;
  after.when = before.when + std::chrono::seconds(2);
  after.busy_seconds = 1.5;
  after.self_seconds = 0.25;
  after.descendant_seconds = 1.0;
  EXPECT_DOUBLE_EQ(Between(before, after, false).foreign_seconds, 0.25);
  EXPECT_DOUBLE_EQ(Between(before, after, true).foreign_seconds, 0.5);
  EXPECT_DOUBLE_EQ(Between(before, after, false).wall_seconds, 2);
  // A thread of ours that was sent to the measured processors from elsewhere.
  after.helper_seconds = 0.125;
  EXPECT_DOUBLE_EQ(Between(before, after, true).foreign_seconds, 0.375);
  EXPECT_DOUBLE_EQ(Between(before, after, false).foreign_seconds, 0.25) << "it is part of this process's time";
}

TEST(OwnTime, IsOfItsProcessorAlone) {
  const std::vector<int>& processors = AllowedProcessors();
  const int here = processors.front();
  auto before = TakeCpuSnapshot({here});
  ASSERT_TRUE(before.ok()) << before.error().message;
  double spent = 0;
  std::thread helper([&] {
    const OwnTime own(here);
    timespec time{};
    for (volatile unsigned sum = 0; spent < 0.02;
         spent = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)) {
      for (unsigned i = 0; i < 1000; ++i) sum = sum + i;
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    }
  });
  helper.join();
  auto after = TakeCpuSnapshot({here});
  ASSERT_TRUE(after.ok());
  const double counted = after.value().helper_seconds - before.value().helper_seconds;
  EXPECT_GT(counted, 0.9 * spent);
  EXPECT_LT(counted, 1.1 * spent + 0.001);
  if (processors.size() < 2) GTEST_SKIP() << "SKIPPED: there is no other processor";
  auto other_before = TakeCpuSnapshot({processors.back()});
  { const OwnTime own(here); }
  auto other_after = TakeCpuSnapshot({processors.back()});
  ASSERT_TRUE(other_before.ok() && other_after.ok());
  EXPECT_EQ(other_after.value().helper_seconds, other_before.value().helper_seconds);
}

TEST(TakeCpuSnapshot, CountsThisProcess) {
  auto before = TakeCpuSnapshot(AllowedProcessors());
  ASSERT_TRUE(before.ok()) << before.error().message;
  volatile unsigned sum = 0;
  CpuSnapshot after;
  // Until the counters move, which they do in ticks.
  for (int i = 0; i < 2000 && after.self_seconds <= before.value().self_seconds; ++i) {
    for (int j = 0; j < 100000; ++j) sum = sum + static_cast<unsigned>(j);
    auto taken = TakeCpuSnapshot(AllowedProcessors());
    ASSERT_TRUE(taken.ok());
    after = taken.value();
  }
  EXPECT_GT(after.self_seconds, before.value().self_seconds);
}

TEST(TakeCpuSnapshot, RefusesProcessorsThatAreNotThere) { EXPECT_FALSE(TakeCpuSnapshot({99999}).ok()); }

TEST(ThisMachine, IsNamedTheSameTwice) {
  const Machine machine = ThisMachine();
  EXPECT_EQ(machine.id, ThisMachine().id);
  EXPECT_GT(machine.cores, 0);
  EXPECT_GT(machine.memory_gib, 0);
  EXPECT_NE(machine.kernel, "");
}

}  // namespace
}  // namespace assay
