// SPDX-License-Identifier: Apache-2.0
#include "measure/floor.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "measure/course.h"
#include "measure/testing/toy.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

MachineRates Rates() {
  MachineRates rates;
  rates.f32_peak_1t = 100e9;
  rates.f32_peak = 200e9;
  rates.copy_bytes = 20e9;
  rates.triad_bytes = 25e9;
  rates.threads = 2;
  return rates;
}

// With the peak of another type, as it is measured where a contract asks for it.
MachineRates With(const char* element, double one_thread) {
  MachineRates rates = Rates();
  rates.peaks.push_back({element, one_thread, 2 * one_thread});
  return rates;
}

MachineRates WithCaches() {
  MachineRates rates = Rates();
  rates.caches = {{2, 2'000'000, 1, 200e9, 400e9}, {3, 28'000'000, 2, 50e9, 80e9}};
  return rates;
}

Work Of(double operations, double bytes, CacheState state, int threads = 1, std::string unit = "f32",
        Multipliers multipliers = Multipliers::kVectors) {
  return {.workload = "w",
          .operations = operations,
          .bytes = bytes,
          .unit = std::move(unit),
          .narrowest_bits = 32,
          .state = state,
          .threads = threads,
          .cache_bytes = 32'000'000,
          .multipliers = multipliers};
}

TEST(ReferenceFloor, TakesTheSlowerOfComputingAndMoving) {
  constexpr CacheState kHot = CacheState::kHot, kCold = CacheState::kCold;
  MachineRates reading = Rates();
  reading.read_bytes = 50e9;
  const struct {
    const char* name;
    Work work;
    MachineRates rates;
    double seconds;
    const char* bound_by;
  } cases[] = {
      {"computing, one thread", Of(1e9, 1e6, kHot), Rates(), 10e-3, "f32 peak"},
      {"computing, all threads", Of(1e9, 1e6, kHot, 2), Rates(), 5e-3, "f32 peak"},
      {"moving, cold: the better of copy and triad", Of(1e6, 250e6, kCold), Rates(), 10e-3, "memory bandwidth"},
      {"or of reading", Of(1e6, 250e6, kCold), reading, 5e-3, "memory bandwidth"},
      {"hot and in cache: moving is free where no cache is calibrated", Of(1e6, 30e6, kHot), Rates(), 10e-6,
       "f32 peak"},
      {"hot, beyond the caches: only what exceeds them", Of(1e6, 57e6, kHot), Rates(), 1e-3, "memory bandwidth"},
      {"a type that was not measured", Of(1e12, 25e6, kCold, 1, "i8"), Rates(), 1e-3, "memory bandwidth"},
      {"a unit that is no type", Of(1e12, 25e6, kCold, 1, "hashes"), Rates(), 1e-3, "memory bandwidth"},
      {"nothing binds", Of(1e12, 25e6, kHot, 1, "i8"), Rates(), 0, "nothing that was measured"},
      {"more threads than were measured", Of(1e12, 25e6, kCold, 3), Rates(), 0, "nothing that was measured"},
      {"bytes", Of(4e9, 1e6, kHot, 1, "i8"), With("i8", 400e9), 10e-3, "i8 peak"},
      {"bytes, all threads", Of(4e9, 1e6, kHot, 2, "i8"), With("i8", 400e9), 5e-3, "i8 peak"},
      {"doubles", Of(1e9, 1e6, kHot, 1, "f64"), With("f64", 50e9), 20e-3, "f64 peak"},
      {"dot products of bf16 that are faster", Of(1e9, 1e6, kHot, 1, "bf16"), With("bf16", 200e9), 5e-3, "bf16 peak"},
      {"slower than f32 does the same", Of(1e9, 1e6, kHot, 1, "bf16"), With("bf16", 50e9), 10e-3, "f32 peak"},
      {"tiles are not measured: bytes", Of(4e9, 57e6, kHot, 1, "i8", Multipliers::kTiles), With("i8", 400e9), 1e-3,
       "memory bandwidth"},
      {"tiles are not measured: bf16", Of(1e9, 57e6, kHot, 1, "bf16", Multipliers::kTiles), With("bf16", 50e9), 1e-3,
       "memory bandwidth"},
      {"tiles leave f32 alone", Of(1e9, 1e6, kHot, 1, "f32", Multipliers::kTiles), Rates(), 10e-3, "f32 peak"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Floor floor = ReferenceFloor(c.work, c.rates);
    EXPECT_NEAR(floor.seconds, c.seconds, 1e-9);
    EXPECT_EQ(floor.bound_by, c.bound_by);
    EXPECT_FALSE(floor.calibrated);
  }
}

TEST(ReferenceFloor, AsksTheLevelInWhichTheDataLie) {
  constexpr CacheState kHot = CacheState::kHot;
  const struct {
    const char* name;
    Work work;
    double seconds;
    const char* bound_by;
    bool calibrated;
  } cases[] = {
      {"just inside L2", Of(1, 2e6, kHot), 10e-6, "L2 bandwidth", true},
      {"all threads have two of them", Of(1, 4e6, kHot, 2), 10e-6, "L2 bandwidth", true},
      {"a little beyond: L2 still gives most", Of(1, 2.1e6, kHot), 10.5e-6, "L2 bandwidth", true},
      {"L3 gives what exceeds L2", Of(1, 12e6, kHot), 200e-6, "L3 bandwidth", true},
      {"L3 with all threads", Of(1, 12e6, kHot, 2), 100e-6, "L3 bandwidth", true},
      {"memory", Of(1, 57e6, kHot), 1.1e-3, "L3 bandwidth", true},
      {"far in memory", Of(1, 132e6, kHot), 4e-3, "memory bandwidth", false},
      {"computing", Of(1e9, 2e6, kHot), 10e-3, "f32 peak", false},
      {"cold: it lies in no cache", Of(1, 2.5e6, CacheState::kCold), 100e-6, "memory bandwidth", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Floor floor = ReferenceFloor(c.work, WithCaches());
    EXPECT_NEAR(floor.seconds, c.seconds, 1e-9);
    EXPECT_EQ(floor.bound_by, c.bound_by);
    EXPECT_EQ(floor.calibrated, c.calibrated);
  }
}

TEST(Floors, ARateThatIsNoneBoundsNothing) {
  const Work work = Of(1e9, 250e6, CacheState::kHot);
  for (const double none : {0.0, -1.0, kNaN, kInfinity}) {
    MachineRates rates = WithCaches();
    rates.f32_peak_1t = rates.f32_peak = rates.copy_bytes = none;
    rates.triad_bytes = rates.read_bytes = 0;
    rates.peaks = {{"f64", none, none}};
    for (CacheRate& cache : rates.caches) cache.one_thread = cache.all_threads = none;
    for (const Floor& floor : {ReferenceFloor(work, rates), ImpossibleFloor(work, rates)}) {
      EXPECT_EQ(floor.seconds, 0) << none;
      EXPECT_EQ(floor.bound_by, "nothing that was measured");
    }
    EXPECT_FALSE(Implausible(1e-9, work, rates));
  }
  EXPECT_EQ(ReferenceFloor(Of(kNaN, kNaN, CacheState::kCold), Rates()).seconds, 0);
}

TEST(Implausible, RefusesBelowTheImpossibleFloorAndShowsTheArithmetic) {
  const Work computing = Of(1e9, 1e6, CacheState::kHot);
  // Adders beside the multipliers, and 10 % of slack.
  EXPECT_FALSE(Implausible(6.01e-3, computing, Rates()));
  const auto why = Implausible(5.99e-3, computing, Rates());
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("1000000000 operations / 150.0 G/s (1.5 x the f32 peak) x 0.90"), std::string::npos) << *why;

  // A cold workload gets the cache credit too: (250 - 32) MB / 25 GB/s x 0.9 = 7.85 ms.
  const Work moving = Of(1e6, 250e6, CacheState::kCold);
  EXPECT_FALSE(Implausible(7.86e-3, moving, Rates()));
  EXPECT_TRUE(Implausible(7.83e-3, moving, Rates()));
  // Nobody knows what more threads could do, nor what caches give.
  EXPECT_FALSE(Implausible(1e-9, Of(1e9, 250e6, CacheState::kCold, 3), Rates()));
  EXPECT_FALSE(Implausible(1e-9, Of(1, 30e6, CacheState::kHot), WithCaches()));
}

TEST(ImpossibleFloor, UsesOnlyRatesThatNoKernelBeats) {
  const auto narrow = [](Work work, int bits) {
    work.narrowest_bits = bits;
    return work;
  };
  constexpr CacheState kHot = CacheState::kHot;
  constexpr Multipliers kTiles = Multipliers::kTiles;
  const struct {
    const char* name;
    Work work;
    MachineRates rates;
    double rate;  // of one thread; 0: it bounds nothing
  } cases[] = {
      {"f32", Of(1e9, 0, kHot), Rates(), 150e9},
      {"counted as f32, but of bf16 tensors", narrow(Of(1e9, 0, kHot), 16), Rates(), 300e9},
      {"bf16 whose own instruction is slow", narrow(Of(1e9, 0, kHot, 1, "bf16"), 16), With("bf16", 50e9), 300e9},
      {"f64 where all is f64", narrow(Of(1e9, 0, kHot, 1, "f64"), 64), With("f64", 50e9), 75e9},
      {"f64 that may be computed in f32", Of(1e9, 0, kHot, 1, "f64"), With("f64", 50e9), 150e9},
      {"bytes", narrow(Of(1e9, 0, kHot, 1, "i8"), 8), With("i8", 400e9), 600e9},
      {"bytes without an instruction of their own", narrow(Of(1e9, 0, kHot, 1, "i8"), 8), Rates(), 600e9},
      {"a peak that was seen above all that", narrow(Of(1e9, 0, kHot, 1, "i8"), 8), With("i8", 700e9), 700e9},
      {"tiles, bytes", narrow(Of(1e9, 0, kHot, 1, "i8", kTiles), 8), With("i8", 400e9), 3200e9},
      {"tiles, bf16", narrow(Of(1e9, 0, kHot, 1, "bf16", kTiles), 16), With("bf16", 50e9), 1600e9},
      {"tiles: f32 of three products", Of(1e9, 0, kHot, 1, "f32", kTiles), Rates(), 600e9},
      {"an unknown processor", Of(1e9, 0, kHot, 1, "f32", Multipliers::kUnknown), Rates(), 0},
      {"a unit that is no type", Of(1e9, 0, kHot, 1, "hashes"), Rates(), 0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_NEAR(ImpossibleFloor(c.work, c.rates).seconds, c.rate > 0 ? 0.9 * 1e9 / c.rate : 0, 1e-12);
  }
}

TEST(Multipliers, AreToldByWhatTheKernelLists) {
  const struct {
    const char* name;
    std::vector<std::string> features;
    Multipliers found;
  } cases[] = {
      {"vectors", {"avx", "avx2", "avx512_bf16", "avx512_fp16", "fma"}, Multipliers::kVectors},
      {"tiles", {"amx_bf16", "amx_int8", "amx_tile", "avx2", "fma"}, Multipliers::kTiles},
      {"tiles that nobody has heard of", {"amx_fp8", "amx_tile", "avx2", "fma"}, Multipliers::kUnknown},
      {"no multiply-add", {"avx", "avx2"}, Multipliers::kUnknown},
      {"another architecture", {"asimd", "sve"}, Multipliers::kUnknown},
      {"nothing", {}, Multipliers::kUnknown},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(MultipliersOf(c.features), c.found);
  }
}

TEST(WorkOf, KnowsTheNarrowestValues) {
  Contract contract = testing::TimedToy();
  const Shape shape = WorkloadShape(contract, contract.workloads[0]).value();
  const auto bits = [&] { return WorkOf(contract, contract.workloads[0], shape, 1).value().narrowest_bits; };
  EXPECT_EQ(bits(), 32);
  contract.tensors[1].compare->in = DType::kBf16;
  EXPECT_EQ(bits(), 16);
  contract.tensors[0].dtype = DType::kI8;
  EXPECT_EQ(bits(), 8);
}

// Else an honest bf16 kernel would reach several times "the peak".
TEST(WorkOf, CountsNarrowProductsInTheUnitThatMakesThem) {
  Contract contract = testing::TimedToy();
  const Shape shape = WorkloadShape(contract, contract.workloads[0]).value();
  const auto unit = [&] { return WorkOf(contract, contract.workloads[0], shape, 1).value().unit; };
  EXPECT_EQ(unit(), "f32");
  contract.tensors[0].dtype = DType::kBf16;
  EXPECT_EQ(unit(), "bf16");
  contract.cost->unit = "i8";
  EXPECT_EQ(unit(), "i8");
}

}  // namespace
}  // namespace assay
