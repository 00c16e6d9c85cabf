// SPDX-License-Identifier: Apache-2.0
#include "measure/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/file.h"
#include "measure/calibration_judge.h"
#include "measure/environment.h"
#include "measure/peak_kernels.h"
#include "measure/stream_kernels.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kThreads = 2;

BestAndMedian Of(double value) { return {value, value}; }

// A machine of 4 GHz with two 512-bit pipes on which everything is as it should be.
Calibration Plausible() {
  Calibration c;
  c.machine = "0123456789abcdef0123456789abcdef";
  c.processor = "a processor";
  c.kernel = "a kernel";
  c.cores = c.threads = kThreads;
  c.caches = {{1, 48 << 10, 1}, {2, 2 << 20, 1}, {3, 32 << 20, 2}};
  c.when = 1'700'000'000;
  c.seconds_spent = 8;
  c.clock_hz = 4e9;
  for (const int threads : {1, kThreads}) {
    c.peaks.push_back({"f32", "512-bit FMA", 16, threads, Of(256e9 * threads), 4e9});
    c.peaks.push_back({"f64", "512-bit FMA", 8, threads, Of(128e9 * threads), 4e9});
    c.peaks.push_back({"bf16", "512-bit dot", 32, threads, Of(128e9 * threads), 4e9});
    c.peaks.push_back({"i8", "512-bit dot", 64, threads, Of(1024e9 * threads), 4e9});
    const std::pair<const char*, double> levels[] = {{"L1", 500e9}, {"L2", 200e9}, {"L3", 60e9}, {"DRAM", 20e9}};
    for (const auto& [level, bytes] : levels) {
      for (const char* access : {"read", "copy"}) {
        c.streams.push_back({level, access, false, threads, 1 << 20, Of(bytes * threads)});
      }
    }
    c.streams.push_back({"DRAM", "copy", true, threads, 1 << 20, Of(25e9 * threads)});
  }
  c.latencies = {{"L1", 24 << 10, Of(1.2e-9)},
                 {"L2", 1 << 20, Of(4e-9)},
                 {"L3", 8 << 20, Of(20e-9)},
                 {"DRAM", 512 << 20, Of(100e-9)}};
  c.overheads = {{Overhead::kIndirectCall, 1, Of(1e-9)},  {Overhead::kSystemCall, 1, Of(70e-9)},
                 {Overhead::kFault4K, 1, Of(700e-9)},     {Overhead::kFault2M, 1, Of(80e-6)},
                 {Overhead::kForkJoinSleep, 2, Of(5e-6)}, {Overhead::kWakeUp, 2, Of(5e-6)},
                 {Overhead::kNullUnit, 1, Of(5e-6)},      {Overhead::kClockRead, 1, Of(16e-9)}};
  c.noise = {40, 0.001, 0.004};
  c.notes = {"a note"};
  return c;
}

PeakFigure& Peak(Calibration& c, const std::string& element, int threads) {
  return *std::find_if(c.peaks.begin(), c.peaks.end(),
                       [&](const PeakFigure& p) { return p.element == element && p.threads == threads; });
}
StreamFigure& Stream(Calibration& c, const std::string& level, const std::string& access, bool around, int threads) {
  return *std::find_if(c.streams.begin(), c.streams.end(), [&](const StreamFigure& s) {
    return s.level == level && s.access == access && s.around == around && s.threads == threads;
  });
}
OverheadFigure& Cost(Calibration& c, Overhead what) {
  return *std::find_if(c.overheads.begin(), c.overheads.end(), [&](const OverheadFigure& o) { return o.what == what; });
}

struct Planted {
  const char* name;
  std::function<void(Calibration&)> plant;
  std::vector<std::string> told;  // words of the reason; none: it is accepted
};

void Judge(const std::vector<Planted>& cases) {
  for (const Planted& c : cases) {
    SCOPED_TRACE(c.name);
    Calibration calibration = Plausible();
    c.plant(calibration);
    const std::optional<std::string> why = RefuseAll(calibration);
    EXPECT_EQ(why.has_value(), !c.told.empty()) << why.value_or("");
    for (const std::string& word : c.told) EXPECT_NE(why.value_or("").find(word), std::string::npos) << *why;
  }
}

TEST(RefuseCalibration, NothingOfAPlausibleMachine) { EXPECT_EQ(RefuseAll(Plausible()).value_or(""), ""); }

TEST(RefuseCalibration, ClocksThatNoProcessorHas) {
  const auto at = [](double hz) {
    return [hz](Calibration& c) {
      for (PeakFigure& peak : c.peaks) peak.clock_hz = hz;
      c.clock_hz = hz;
      // Everything else follows the clock, so that it alone is judged.
      for (PeakFigure& peak : c.peaks) peak.per_second = Of(peak.per_second.best * hz / 4e9);
      for (StreamFigure& stream : c.streams) stream.bytes_per_second = Of(stream.bytes_per_second.best * hz / 4e9);
      for (LatencyFigure& latency : c.latencies) latency.seconds = Of(latency.seconds.best * 4e9 / hz);
    };
  };
  Judge({{"just fast enough", at(0.5e9), {}},
         {"too slow", at(0.49e9), {"0.490 GHz", "0.5 to 7.0"}},
         {"just slow enough", at(7e9), {}},
         {"too fast", at(7.1e9), {"7.100 GHz"}},
         {"no number", at(kNaN), {"nan GHz"}},
         {"one alone is no number", [](Calibration& c) { c.peaks[0].clock_hz = kNaN; }, {"nan GHz"}}});
}

TEST(RefuseCalibration, AClockByItself) {
  for (const double hz : {kNaN, kInfinity, 0.0, -4e9, 0.49e9, 7.1e9}) EXPECT_NE(RefuseClock(hz), std::nullopt) << hz;
  for (const double hz : {0.5e9, 4e9, 7e9}) EXPECT_EQ(RefuseClock(hz), std::nullopt) << hz;
}

TEST(RefuseCalibration, PeaksAboveWhatThePipesGive) {
  const auto f32 = [](double rate) {
    return [rate](Calibration& c) {
      Peak(c, "f32", 1).per_second = Of(rate);
      Peak(c, "f32", kThreads).per_second = Of(kThreads * rate);
    };
  };
  Judge({{"two pipes, and the clock moved", f32(1.04 * 256e9), {}},
         {"more than two pipes", f32(1.06 * 256e9), {"271.4 G/s", "16 lanes x 2 pipes x 4.00 GHz", "256.0 G/s"}},
         {"four pipes of 256 bits",
          [&](Calibration& c) {
            for (const int threads : {1, kThreads}) Peak(c, "f32", threads).lanes = 8;
          },
          {}},
         {"not of a type that has half as many lanes",
          [](Calibration& c) {
            for (const int threads : {1, kThreads}) Peak(c, "f64", threads).per_second = Of(256e9 * threads);
          },
          {"f64 peak"}},
         {"no number", f32(kNaN), {"is no rate"}},
         {"infinite", f32(kInfinity), {"is no rate"}},
         {"nothing", f32(0), {"is no rate"}},
         {"a type that is none", [](Calibration& c) { c.peaks[0].element = "f33"; }, {"f33 is no element type"}},
         {"no peaks at all", [](Calibration& c) { c.peaks.clear(); }, {"nothing was measured"}}});
}

TEST(RefuseCalibration, ThreadsThatLoseOrGainTooMuch) {
  const auto peak = [](double of_one) {
    return [of_one](Calibration& c) { Peak(c, "i8", kThreads).per_second = Of(of_one * 1024e9); };
  };
  const auto copy = [](double of_one) {
    return [of_one](Calibration& c) { Stream(c, "DRAM", "copy", true, kThreads).bytes_per_second = Of(of_one * 25e9); };
  };
  Judge({{"all do hardly less than one", peak(0.91), {}},
         {"all do less than one", peak(0.89), {"i8 peak", "911.4 G/s with 2 threads", "0.9 of 1024.0 G/s"}},
         {"hardly more than each alone", peak(2.05), {}},
         {"a clock that one thread did not have",
          [&](Calibration& c) {
            peak(2.25)(c);
            Peak(c, "i8", kThreads).clock_hz = 4.6e9;
          },
          {"2304.0 G/s with 2 threads", "1.1 x 2 x 1024.0 G/s"}},
         {"bandwidth: hardly less", copy(0.91), {}},
         {"bandwidth: less", copy(0.89), {"DRAM copy around the caches", "22.2 GB/s", "25.0 GB/s"}},
         {"bandwidth: hardly more", copy(2.19), {}},
         {"bandwidth: more", copy(2.21), {"55.2 GB/s with 2 threads", "1.1 x 2 x 25.0 GB/s"}}});
}

TEST(RefuseCalibration, BandwidthThatGrowsWithTheDistance) {
  const auto read = [](const char* level, double bytes) {
    return [=](Calibration& c) {
      for (const int threads : {1, kThreads})
        Stream(c, level, "read", false, threads).bytes_per_second = Of(bytes * threads);
    };
  };
  Judge({{"memory as fast as the level before", read("DRAM", 65e9), {}},
         {"memory faster than the level before", read("DRAM", 67e9), {"67.0 GB/s from DRAM", "60.0 GB/s from L3"}},
         {"memory faster than the first level",
          [&](Calibration& c) {
            read("DRAM", 600e9)(c);
            read("L2", 545e9)(c);
            read("L3", 549e9)(c);
          },
          {"600.0 GB/s from DRAM", "500.0 GB/s from L1"}},
         {"the second level faster than the first", read("L2", 560e9), {"from L2", "from L1"}},
         {"as much as the ports let through", read("L1", 800e9), {}},
         {"more than the ports let through", read("L1", 807e9), {"807.0 GB/s", "806.4 GB/s"}},
         {"no number", read("L2", kNaN), {"L2 read", "is no bandwidth"}},
         {"nothing at all", [](Calibration& c) { c.streams.clear(); }, {"nothing was measured"}}});
}

TEST(RefuseCalibration, LoadsThatComeTooSoon) {
  const auto at = [](size_t level, double seconds) {
    return [=](Calibration& c) { c.latencies[level].seconds = Of(seconds); };
  };
  Judge({{"the second level as near as the first", at(1, 1.1e-9), {}},
         {"the second level nearer than the first", at(1, 1.0e-9), {"1.00 ns", "1.20 ns of L1"}},
         {"memory nearer than the last level", at(3, 17e-9), {"latency of DRAM", "of L3"}},
         {"two cycles", at(0, 0.5e-9), {}},
         {"less than two cycles", at(0, 0.47e-9), {"0.47 ns", "2 cycles"}},
         {"no number", at(2, kNaN), {"latency of L3", "no time"}},
         {"nothing at all", [](Calibration& c) { c.latencies.clear(); }, {"nothing was measured"}}});
}

TEST(RefuseCalibration, CostsBelowThoseOfLess) {
  const auto at = [](Overhead what, double seconds) {
    return [=](Calibration& c) { Cost(c, what).seconds = Of(seconds); };
  };
  Judge({{"a system call below an indirect call", at(Overhead::kSystemCall, 0.9e-9), {"system_call", "indirect_call"}},
         {"a page fault below a system call", at(Overhead::kFault4K, 69e-9), {"69.00 ns", "70.00 ns"}},
         {"a huge page below a small one", at(Overhead::kFault2M, 699e-9), {"page_fault_2m", "page_fault_4k"}},
         {"a sleep below a system call", at(Overhead::kForkJoinSleep, 69e-9), {"fork_join_sleep"}},
         {"a wake-up below a system call", at(Overhead::kWakeUp, 69e-9), {"wake_up"}},
         {"a unit below a system call", at(Overhead::kNullUnit, 69e-9), {"null_unit"}},
         {"equal costs", at(Overhead::kFault4K, 70e-9), {}},
         {"no time at all", at(Overhead::kClockRead, 0), {"clock_read", "no time"}},
         {"no number", at(Overhead::kClockRead, kNaN), {"clock_read", "no time"}},
         {"nothing at all", [](Calibration& c) { c.overheads.clear(); }, {"nothing was measured"}}});
  EXPECT_EQ(RefuseOverheads(Plausible().overheads, 0), std::nullopt);
  EXPECT_NE(RefuseOverheads(Plausible().overheads, 3).value_or("").find("3 readings"), std::string::npos);
}

TEST(RefuseCalibration, NoiseThatIsNone) {
  Judge({{"not measured", [](Calibration& c) { c.noise = {}; }, {}},
         {"percentiles in the wrong order",
          [](Calibration& c) {
            c.noise = {40, 0.02, 0.01};
          },
          {"0.01", "0.02"}},
         {"no number",
          [](Calibration& c) {
            c.noise = {40, kNaN, kNaN};
          },
          {"noise"}}});
}

TEST(WorkingSets, LieWhereTheirLevelServesThem) {
  const std::vector<CacheLevel> desktop = {{1, 32 << 10, 2}, {2, 1 << 20, 2}, {3, 32 << 20, 16}};
  const std::vector<CacheLevel> host = {{1, 48 << 10, 1}, {2, 2 << 20, 1}, {3, 480 << 20, 2}};
  constexpr int64_t kPlenty = int64_t{64} << 30;
  const struct {
    const char* name;
    std::vector<CacheLevel> caches;
    int threads;
    int64_t available;
    std::vector<int64_t> bytes;  // of a thread, nearest level first
    const char* noted;           // "": nothing
  } cases[] = {
      {"one thread of a desktop", desktop, 1, kPlenty, {16 << 10, 512 << 10, 8 << 20, 256 << 20}, ""},
      {"two share an instance", desktop, 2, kPlenty, {8 << 10, 256 << 10, 8 << 20, 128 << 20}, ""},
      {"eight in the last level", desktop, 8, kPlenty, {8 << 10, 256 << 10, 2 << 20, 32 << 20}, ""},
      {"sixteen leave nothing of it", desktop, 16, kPlenty, {8 << 10, 256 << 10, 0, 16 << 20}, "L3 with 16 threads"},
      {"a host's level is not ours", host, 1, kPlenty, {24 << 10, 1 << 20, 8 << 20, 512 << 20}, "480 MiB"},
      {"little memory", desktop, 1, int64_t{256} << 20, {16 << 10, 512 << 10, 8 << 20, 64 << 20}, "64 MiB"},
      {"a kernel that says nothing", {}, 2, kPlenty, {128 << 20}, "memory alone"},
      {"nothing known of memory", desktop, 1, 0, {16 << 10, 512 << 10, 8 << 20, 256 << 20}, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<std::string> notes;
    std::vector<int64_t> bytes;
    for (const WorkingSet& set : WorkingSets(c.caches, c.threads, c.available, notes))
      bytes.push_back(set.bytes_per_thread);
    EXPECT_EQ(bytes, c.bytes);
    const std::string noted = notes.empty() ? "" : notes.front();
    EXPECT_EQ(notes.size(), std::string(c.noted).empty() ? 0U : 1U) << noted;
    EXPECT_NE(noted.find(c.noted), std::string::npos) << noted;
  }
}

class CalibrationCache : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::Create("assay-calibration");
    ASSERT_TRUE(made.ok());
    folder_.emplace(std::move(made).value());
    file_ = CalibrationFile(folder_->path() / "new", Plausible());
  }
  std::optional<Calibration> Read(int64_t age, const Calibration& like = Plausible()) const {
    return ReadCalibration(file_, like, Plausible().when + age, 100);
  }
  std::optional<TemporaryFolder> folder_;
  std::filesystem::path file_;
};

TEST_F(CalibrationCache, GivesBackWhatWasKept) {
  EXPECT_FALSE(Read(0));
  const Calibration kept = Plausible();
  ASSERT_TRUE(WriteCalibration(file_, kept).ok());
  EXPECT_EQ(Read(0), kept);
  EXPECT_EQ(Read(100), kept);
  EXPECT_FALSE(Read(101)) << "too old";
  EXPECT_FALSE(Read(-1)) << "from the future";
}

TEST_F(CalibrationCache, IsOfOneMachineAndItsThreads) {
  ASSERT_TRUE(WriteCalibration(file_, Plausible()).ok());
  Calibration other = Plausible();
  other.machine = "fedcba9876543210";
  EXPECT_NE(CalibrationFile(folder_->path(), other), CalibrationFile(folder_->path(), Plausible()));
  EXPECT_FALSE(Read(0, other));
  other = Plausible();
  other.threads = 1;
  EXPECT_NE(CalibrationFile(folder_->path(), other), CalibrationFile(folder_->path(), Plausible()));
  EXPECT_FALSE(Read(0, other));
  other = Plausible();
  other.caches[2].bytes *= 2;
  EXPECT_FALSE(Read(0, other)) << "the guest was moved to another host";
}

TEST_F(CalibrationCache, IsKeptForThreadsElseForAllProcessors) {
  const int all = static_cast<int>(AllowedProcessors().size());
  const auto keep = [&](int64_t age) {
    Calibration kept = Plausible();
    const Calibration head = CalibrationHead(all);
    kept.machine = head.machine;
    kept.caches = head.caches;
    kept.threads = all;
    kept.when = head.when - age;
    ASSERT_TRUE(WriteCalibration(CalibrationFile(folder_->path(), head), kept).ok());
  };
  EXPECT_FALSE(KeptCalibration(folder_->path(), 1));
  keep(3600);
  for (const int threads : {1, all}) {
    const auto kept = KeptCalibration(folder_->path(), threads);
    ASSERT_TRUE(kept) << threads;
    EXPECT_EQ(kept->threads, all);
  }
  keep(25 * 3600);
  EXPECT_FALSE(KeptCalibration(folder_->path(), 1)) << "older than a day";
}

TEST_F(CalibrationCache, OfADamagedFileIsNothing) {
  Calibration impossible = Plausible();
  Peak(impossible, "f32", 1).per_second = Of(1e15);
  const std::string whole = CalibrationJson(Plausible());
  const std::pair<const char*, std::string> cases[] = {
      {"empty", ""},
      {"cut off", whole.substr(0, whole.size() / 2)},
      {"not JSON", "not JSON"},
      {"another document", "{\"format\": \"assay.run.1\"}"},
      {"a later form", std::string(whole).replace(whole.find("calibration.1"), 13, "calibration.2")},
      {"a cost that nobody knows", std::string(whole).replace(whole.find("system_call"), 11, "system_fall")},
      {"figures that no machine has", CalibrationJson(impossible)},
  };
  for (const auto& [name, text] : cases) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(WriteCalibration(file_, Plausible()).ok());
    ASSERT_TRUE(WriteFileAtomically(file_, text).ok());
    EXPECT_FALSE(Read(0));
  }
  EXPECT_EQ(ParseCalibration(whole).value(), Plausible());
}

TEST(PeakKernels, OfEachTypeAreCountedAndRun) {
  std::vector<std::string> elements;
  for (const FmaKernel& kernel : PeakKernels()) {
    SCOPED_TRACE(kernel.name);
    kernel.run(10);
    EXPECT_GE(kernel.accumulators, 14);
    if (elements.empty() || elements.back() != kernel.element) elements.emplace_back(kernel.element);
  }
  ASSERT_GE(elements.size(), 2U);
  EXPECT_EQ(elements[0], "f32");
  EXPECT_EQ(elements[1], "f64");
  std::vector<std::string> once = elements;
  std::sort(once.begin(), once.end());
  EXPECT_EQ(std::unique(once.begin(), once.end()), once.end()) << "the types' kernels lie together";
  for (const FmaKernel& kernel : FmaKernels()) EXPECT_EQ(kernel.element, "f32");
}

TEST(StreamKernels, DoWhatTheirNamesSayAndNoMore) {
  constexpr size_t kValues = 2 * kStreamStep;
  alignas(64) static float to[kValues + kStreamStep], a[kValues], b[kValues];
  for (const StreamKernel& kernel : StreamKernels()) {
    SCOPED_TRACE(std::string(kernel.access) + (kernel.around ? " around" : ""));
    std::fill(std::begin(to), std::end(to), -7.0F);
    for (size_t i = 0; i < kValues; ++i) a[i] = static_cast<float>(i), b[i] = 2.0F * static_cast<float>(i);
    kernel.run(to, a, b, kValues, 2);
    for (size_t i = 0; i < kValues; ++i) {
      EXPECT_EQ(a[i], static_cast<float>(i));
      EXPECT_EQ(b[i], 2.0F * static_cast<float>(i));
      const float expected = kernel.access == "read"    ? -7.0F
                             : kernel.access == "write" ? 0.5F
                             : kernel.access == "copy"  ? a[i]
                                                        : a[i] + 0.5F * b[i];
      EXPECT_EQ(to[i], expected);
    }
    for (size_t i = kValues; i < kValues + kStreamStep; ++i) EXPECT_EQ(to[i], -7.0F) << "beyond the end";
  }
}

TEST(ChasePointers, FollowsThem) {
  void* ring[3] = {&ring[1], &ring[2], &ring[0]};
  EXPECT_EQ(ChasePointers(&ring[0], 0), &ring[0]);
  EXPECT_EQ(ChasePointers(&ring[0], 4), &ring[1]);
}

TEST(Calibrate, MeasuresOrSaysWhyNot) {
  std::vector<std::string> parts;
  const auto outcome = Calibrate({1, [&](const std::string& part) { parts.push_back(part); }});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_FALSE(parts.empty());
  if (const auto* refused = std::get_if<CalibrationRefused>(&outcome.value())) {
    EXPECT_NE(refused->why, "");
    GTEST_SKIP() << "SKIPPED: " << refused->why;
  }
  const Calibration& calibration = std::get<Calibration>(outcome.value());
  EXPECT_EQ(RefuseAll(calibration), std::nullopt);
  EXPECT_EQ(calibration.machine, ThisMachine().id);
  const Result<Calibration> read = ParseCalibration(CalibrationJson(calibration));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value(), calibration);
}

}  // namespace
}  // namespace assay
