// SPDX-License-Identifier: Apache-2.0
#include "measure/caches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "measure/environment.h"

namespace assay {
namespace {

// A walk through all lines of half a megabyte in random order, which no prefetcher foresees.
class Walk {
 public:
  Walk() : lines_(8192) {
    std::vector<uint32_t> order(lines_.size());
    std::iota(order.begin(), order.end(), 0U);
    Stream stream(Seed::FromNumber(1));
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.Below(i)]);
    for (size_t i = 0; i < order.size(); ++i) lines_[order[i]].next = order[(i + 1) % order.size()];
  }
  double Seconds() {
    const auto start = std::chrono::steady_clock::now();
    uint32_t at = 0;
    for (size_t i = 0; i < lines_.size(); ++i) at = lines_[at].next;
    asm volatile("" : : "r"(at));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(lines_)); }

 private:
  struct alignas(64) Line {
    uint32_t next = 0;
  };
  std::vector<Line> lines_;
};

TEST(EmptyCaches, WhatWasFlushedHasToComeFromMemory) {
  Walk walk, bystander;
  double hot = 1, cold = 1, spared = 1;
  for (int i = 0; i < 9; ++i) {
    walk.Seconds();
    hot = std::min(hot, walk.Seconds());
    bystander.Seconds();
    const std::span<const std::byte> memory[] = {walk.bytes()};
    ASSERT_TRUE(EmptyCaches(memory, {}).ok());
    cold = std::min(cold, walk.Seconds());
    spared = std::min(spared, bystander.Seconds());
  }
  EXPECT_GT(cold, 2 * hot);
#if defined(__x86_64__)
  EXPECT_LT(spared, cold) << "what was not named stays where it is";
#endif
}

TEST(EmptyCaches, OfNothingIsNothing) { EXPECT_TRUE(EmptyCaches({}, {}).ok()); }

TEST(EmptyCaches, OfProcessorsReplacesWhatTheirOwnCachesHeld) {
  Walk walk;
  double hot = 1, cold = 1;
  for (int i = 0; i < 9; ++i) {
    walk.Seconds();
    hot = std::min(hot, walk.Seconds());
    // This thread may run on any of them.
    ASSERT_TRUE(EmptyCaches({}, AllowedProcessors()).ok());
    cold = std::min(cold, walk.Seconds());
  }
  EXPECT_GT(cold, 1.2 * hot);
}

// The supervisor keeps to free processors; what it has read on measured ones for a cold unit is no stranger's work.
TEST(EmptyCaches, CountsItsReadersAsOurOwn) {
  const std::vector<int> measured = {AllowedProcessors().front()};
  auto before = TakeCpuSnapshot(measured);
  ASSERT_TRUE(before.ok()) << before.error().message;
  ASSERT_TRUE(EmptyCaches({}, measured).ok());
  auto after = TakeCpuSnapshot(measured);
  ASSERT_TRUE(after.ok());
  EXPECT_GT(after.value().helper_seconds, before.value().helper_seconds);
  CpuSnapshot uncounted = after.value();
  uncounted.helper_seconds = before.value().helper_seconds;
  EXPECT_LE(Between(before.value(), after.value(), true).foreign_seconds,
            Between(before.value(), uncounted, true).foreign_seconds);
}

}  // namespace
}  // namespace assay
