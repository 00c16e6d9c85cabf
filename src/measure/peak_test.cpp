// SPDX-License-Identifier: Apache-2.0
#include "measure/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "measure/environment.h"
#include "measure/peak_kernels.h"

namespace assay {
namespace {

constexpr double kClock = 4e9;

FmaSample At(int lanes, double pipes, int threads = 1) { return {lanes, 2.0 * lanes * pipes * kClock * threads}; }

TEST(WholePipes, RoundsUpSoThatHalfAMachineCannotPass) {
  const struct {
    const char* name;
    double measured;
    std::optional<int> pipes;
  } cases[] = {
      {"one pipe, exactly", 1.0, 1},
      {"one pipe, just good enough", 0.951, 1},
      {"one pipe, disturbed", 0.949, std::nullopt},
      {"two pipes", 1.97, 2},
      {"two pipes, just good enough", 1.901, 2},
      {"two pipes, disturbed", 1.89, std::nullopt},
      {"two pipes at half speed look like one", 1.0, 1},
      {"two pipes at 70 % are not one pipe", 1.4, std::nullopt},
      {"the clock moved between chain and kernel", 1.04, 1},
      {"the clock cannot have moved that far", 1.06, std::nullopt},
      {"nothing ran", 0.0, std::nullopt},
      {"an eighth of a pipe", 0.125, std::nullopt},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(WholePipes(At(16, c.measured), kClock, 1), c.pipes);
  }
}

TEST(JudgePeak, TakesTheWidthWithTheMostLanesTimesPipes) {
  PeakSample zen5{.clock_hz = kClock,
                  .clock_all_hz = kClock,
                  .one_thread = {At(16, 2), At(8, 2)},
                  .all_threads = {At(16, 2, 2), At(8, 2, 2)}};
  MachineRates rates = JudgePeak(zen5, 2);
  EXPECT_EQ(rates.refused, "");
  EXPECT_EQ(rates.lanes * rates.pipes, 32);

  PeakSample zen4{.clock_hz = kClock,
                  .clock_all_hz = kClock,
                  .one_thread = {At(16, 1), At(8, 2)},
                  .all_threads = {At(16, 1, 2), At(8, 2, 2)}};
  rates = JudgePeak(zen4, 2);
  EXPECT_EQ(rates.refused, "");
  EXPECT_EQ(rates.lanes * rates.pipes, 16);
}

TEST(JudgePeak, RefusesADisturbedMachineAndSaysWhat) {
  PeakSample one{.clock_hz = kClock, .clock_all_hz = kClock, .one_thread = {At(16, 1.5)}, .all_threads = {At(16, 1.5)}};
  EXPECT_NE(JudgePeak(one, 1).refused, "");

  // One thread alone is fine; of two at once, one had to share its core.
  PeakSample two{
      .clock_hz = kClock, .clock_all_hz = kClock, .one_thread = {At(16, 2)}, .all_threads = {At(16, 2 * 0.9, 2)}};
  const std::string why = JudgePeak(two, 2).refused;
  EXPECT_NE(why.find("2 threads"), std::string::npos) << why;

  two.all_threads = {At(16, 2 * 0.96, 2)};
  EXPECT_EQ(JudgePeak(two, 2).refused, "");
}

TEST(JudgePeak, AsksOfAllThreadsOnlyWhatTheirClockAllows) {
  PeakSample slower_clock{
      .clock_hz = kClock, .clock_all_hz = 0.8 * kClock, .one_thread = {At(16, 2)}, .all_threads = {At(16, 2 * 0.8, 2)}};
  EXPECT_EQ(JudgePeak(slower_clock, 2).refused, "");
}

TEST(RunRates, TellsTheMedianOfTheRunFromTheBestEverSeen) {
  MachineRates first;
  first.f32_peak_1t = first.f32_peak = 100;
  first.copy_bytes = 10;
  RunRates rates(first, 1);
  EXPECT_EQ(rates.Median().f32_peak, 100);
  RunRates next = rates.Anew();
  for (int i = 0; i < 50 && next.Best().f32_peak == 100; ++i) next.ProbePeak();
  if (next.Best().f32_peak == 100) GTEST_SKIP() << "SKIPPED: no probe was undisturbed on this machine now";
  EXPECT_NE(next.Median().f32_peak, 100);  // this run's probe, not the earlier one
  EXPECT_GE(next.Best().f32_peak, 100);
  rates.Raise(next);
  EXPECT_EQ(rates.Best().f32_peak, next.Best().f32_peak);
  EXPECT_EQ(rates.Median().copy_bytes, 10);
}

Calibration Kept() {
  Calibration c;
  c.threads = 2;
  c.caches = {{1, 32 << 10, 1}, {2, 1 << 20, 1}, {3, 32 << 20, 2}};
  c.peaks = {{"f32", "k", 16, 1, {120, 110}, 4e9},
             {"f32", "k", 16, 2, {90, 90}, 4e9},
             {"i8", "k", 64, 1, {500, 400}, 4e9},
             {"i8", "k", 64, 2, {900, 800}, 4e9},
             {"f64", "k", 8, 1, {5000, 50}, 4e9}};
  for (const int threads : {1, 2}) {
    c.streams.push_back({"L1", "read", false, threads, 1, {5000, 5000}});
    c.streams.push_back({"L2", "read", false, threads, 1, {40.0 * threads, 10}});
    c.streams.push_back({"L2", "copy", false, threads, 1, {50.0 * threads, 10}});
    c.streams.push_back({"DRAM", "copy", true, threads, 1, {12.0 * threads, 10}});
  }
  return c;
}

TEST(RunRates, CalibratedFiguresRaiseTheBestAndGiveTheCaches) {
  MachineRates first;
  first.f32_peak_1t = first.f32_peak = 100;
  first.copy_bytes = 20;
  first.peaks = {{"i8", 450, 950}};
  RunRates rates(first, 2);
  rates.TakeCalibrated(Kept());
  EXPECT_EQ(rates.Best().f32_peak_1t, 120);
  EXPECT_EQ(rates.Best().f32_peak, 100) << "what is lower lowers nothing";
  EXPECT_EQ(rates.Best().read_bytes, 24) << "memory with the threads of this run";
  ASSERT_EQ(rates.Best().peaks.size(), 1U);
  EXPECT_EQ(rates.Best().peaks[0].one_thread, 500);
  EXPECT_EQ(rates.Best().peaks[0].all_threads, 950);

  const MachineRates median = rates.Anew().Median();
  EXPECT_EQ(median.f32_peak_1t, 100) << "this run's own peak is not touched";
  EXPECT_EQ(median.read_bytes, 0);
  EXPECT_EQ(median.peaks.at(0).one_thread, 450);
  ASSERT_EQ(median.caches.size(), 1U)
      << "none of L1, which no unit finds its data in, nor of L3, which was not measured";
  EXPECT_EQ(median.caches[0].level, 2);
  EXPECT_EQ(median.caches[0].bytes, 1 << 20);
  EXPECT_EQ(median.caches[0].one_thread, 50);
  EXPECT_EQ(median.caches[0].all_threads, 100);

  // With other threads than were calibrated there is only what one of them does.
  RunRates four(first, 4);
  four.TakeCalibrated(Kept());
  EXPECT_EQ(four.Median().caches.at(0).all_threads, 0);
  EXPECT_EQ(four.Best().f32_peak, 100);
}

TEST(SampleElement, KnowsWhatThisProcessorHas) {
  for (const char* element : {"f64", "bf16", "i8"}) {
    SCOPED_TRACE(element);
    const bool there = std::any_of(PeakKernels().begin(), PeakKernels().end(),
                                   [&](const FmaKernel& kernel) { return kernel.element == element; });
    const ElementPeak peak = SampleElement(element, 1, 2);
    EXPECT_EQ(peak.element, element);
    EXPECT_EQ(peak.one_thread > 0, there);
    EXPECT_EQ(peak.all_threads, peak.one_thread);
  }
  EXPECT_EQ(SampleElement("hashes", 1, 1).one_thread, 0);
}

TEST(FmaKernels, RunOnThisProcessorAndAreCounted) {
  ASSERT_FALSE(FmaKernels().empty());
  for (const FmaKernel& kernel : FmaKernels()) {
    SCOPED_TRACE(kernel.name);
    kernel.run(10);
    EXPECT_GT(kernel.OperationsPerIteration(), 0);
    EXPECT_GE(kernel.accumulators, 14);
  }
}

TEST(Streams, CopyAndTriadComputeWhatTheySay) {
  alignas(64) float a[32], b[32], c[32];
  for (int i = 0; i < 32; ++i) a[i] = static_cast<float>(i), b[i] = 2.0F * static_cast<float>(i);
  StreamTriad(c, a, b, 0.5F, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(c[i], 2.0F * static_cast<float>(i));
  StreamCopy(c, a, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(c[i], static_cast<float>(i));
}

TEST(MeasureRates, GivesPositiveFiguresOrSaysWhyNot) {
  const Result<MachineRates> rates = MeasureRates(1);
  ASSERT_TRUE(rates.ok()) << rates.error().message;
  EXPECT_GT(rates.value().f32_peak_1t, 0);
  EXPECT_GT(rates.value().clock_hz, 0);
  EXPECT_GT(rates.value().copy_bytes, 0);
  EXPECT_GT(rates.value().triad_bytes, 0);
  EXPECT_GT(rates.value().read_bytes, 0);
  EXPECT_EQ(rates.value().threads, 1);
  EXPECT_TRUE(rates.value().peaks.empty()) << "f32 has fields of its own";
  if (!rates.value().refused.empty()) GTEST_SKIP() << "SKIPPED: " << rates.value().refused;
  EXPECT_GE(rates.value().f32_peak_1t, 0.95 * 2 * rates.value().lanes * rates.value().pipes * rates.value().clock_hz);
}

}  // namespace
}  // namespace assay
