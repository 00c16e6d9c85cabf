// SPDX-License-Identifier: Apache-2.0
#include "measure/lease.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/file.h"

namespace assay {
namespace {

using std::chrono::milliseconds;

TEST(MachineLease, HasOneHolder) {
  auto folder = TemporaryFolder::Create("assay-lease");
  ASSERT_TRUE(folder.ok());
  const auto file = folder.value().path() / "clock.lock";
  {
    auto first = MachineLease::AcquireAt(file, milliseconds(0));
    ASSERT_TRUE(first.ok()) << first.error().message;
    ASSERT_TRUE(first.value().has_value());
    auto second = MachineLease::AcquireAt(file, milliseconds(0));
    ASSERT_TRUE(second.ok());
    EXPECT_FALSE(second.value().has_value());
  }
  auto third = MachineLease::AcquireAt(file, milliseconds(0));
  ASSERT_TRUE(third.ok());
  EXPECT_TRUE(third.value().has_value());
}

TEST(MachineLease, TellsWhatWasSpentOnWaiting) {
  auto folder = TemporaryFolder::Create("assay-lease");
  ASSERT_TRUE(folder.ok());
  const auto file = folder.value().path() / "clock.lock";
  const auto first = MachineLease::AcquireAt(file, milliseconds(0));
  ASSERT_TRUE(first.ok() && first.value().has_value());
  const auto before = MachineLease::Waited();
  ASSERT_FALSE(MachineLease::ShareAt(file, milliseconds(30)).value().has_value());
  EXPECT_GE(MachineLease::Waited() - before, milliseconds(30));
}

TEST(MachineLease, GivesWayToWhoWaitsAndHasItAgain) {
  auto folder = TemporaryFolder::Create("assay-lease");
  ASSERT_TRUE(folder.ok());
  const auto file = folder.value().path() / "clock.lock";
  auto timing = MachineLease::AcquireAt(file, milliseconds(0));
  ASSERT_TRUE(timing.ok() && timing.value().has_value());
  // Nobody waits: nothing is given away.
  ASSERT_TRUE(timing.value()->GiveWay(milliseconds(0)).value());
  EXPECT_FALSE(MachineLease::ShareAt(file, milliseconds(0)).value().has_value());
  std::atomic<bool> built{false};
  std::thread builder([&] {
    const auto share = MachineLease::ShareAt(file, milliseconds(60'000));
    built = share.ok() && share.value().has_value();
  });
  while (!built) ASSERT_TRUE(timing.value()->GiveWay(milliseconds(60'000)).value());
  builder.join();
  EXPECT_FALSE(MachineLease::ShareAt(file, milliseconds(0)).value().has_value());
}

TEST(MachineLease, WhoGaveWayAndDoesNotGetItBackIsTold) {
  auto folder = TemporaryFolder::Create("assay-lease");
  ASSERT_TRUE(folder.ok());
  const auto file = folder.value().path() / "clock.lock";
  auto timing = MachineLease::AcquireAt(file, milliseconds(0));
  ASSERT_TRUE(timing.ok() && timing.value().has_value());
  std::atomic<bool> done{false}, holds{false};
  std::thread builder([&] {
    const auto share = MachineLease::ShareAt(file, milliseconds(60'000));
    holds = share.ok() && share.value().has_value();
    while (!done) std::this_thread::sleep_for(milliseconds(1));
  });
  bool mine = true;
  while (!holds && mine) mine = timing.value()->GiveWay(milliseconds(200)).value();
  EXPECT_FALSE(mine);
  done = true;
  builder.join();
  EXPECT_TRUE(holds);
}

TEST(MachineLease, IsAnErrorWhereNoFileCanBe) {
  EXPECT_FALSE(MachineLease::AcquireAt("/nonexistent/folder/clock.lock", milliseconds(0)).ok());
}

TEST(MachineLease, WhoBuildsSharesItAndWhoTimesDoesNot) {
  auto folder = TemporaryFolder::Create("assay-lease");
  ASSERT_TRUE(folder.ok());
  const auto file = folder.value().path() / "clock.lock";
  {
    const auto one = MachineLease::ShareAt(file, milliseconds(0)), other = MachineLease::ShareAt(file, milliseconds(0));
    ASSERT_TRUE(one.ok() && one.value().has_value());
    EXPECT_TRUE(other.ok() && other.value().has_value());
    EXPECT_FALSE(MachineLease::AcquireAt(file, milliseconds(0)).value().has_value());
  }
  const auto alone = MachineLease::AcquireAt(file, milliseconds(0));
  ASSERT_TRUE(alone.ok() && alone.value().has_value());
  EXPECT_FALSE(MachineLease::ShareAt(file, milliseconds(0)).value().has_value());
}

// One that builds again and again, without a pause, does not keep out one that wants to time.
TEST(MachineLease, WhoWaitsForTheClockComesNext) {
  auto folder = TemporaryFolder::Create("assay-lease");
  ASSERT_TRUE(folder.ok());
  const auto file = folder.value().path() / "clock.lock";
  std::atomic<bool> done{false};
  std::atomic<int> shares{0};
  // Two that overlap: without a turnstile the lock would never be free.
  const auto build = [&] {
    while (!done) {
      const auto share = MachineLease::ShareAt(file, milliseconds(10'000));
      if (share.ok() && share.value()) ++shares;
      std::this_thread::sleep_for(milliseconds(5));  // the work, under the lock
    }
  };
  std::thread first(build), second(build);
  while (shares < 10) std::this_thread::yield();
  {
    const auto lease = MachineLease::AcquireAt(file, milliseconds(10'000));
    EXPECT_TRUE(lease.ok() && lease.value().has_value());
    done = true;
  }
  first.join();
  second.join();
}

}  // namespace
}  // namespace assay
