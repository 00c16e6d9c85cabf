// SPDX-License-Identifier: Apache-2.0
#include "verify/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kU = 0x1p-24;      // f32
constexpr double kStep1 = 0x1p-23;  // f32 at 1

constexpr OutputRule kF32{CompareClass::kAccumulate, DType::kF32, DType::kF32, false};
constexpr OutputRule kFlush{CompareClass::kAccumulate, DType::kF32, DType::kF32, true};
constexpr OutputRule kBf16{CompareClass::kAccumulate, DType::kBf16, DType::kF32, false};
constexpr OutputRule kF16{CompareClass::kAccumulate, DType::kF16, DType::kF32, false};
constexpr OutputRule kE4m3{CompareClass::kAccumulate, DType::kE4m3, DType::kF32, false};
constexpr OutputRule kExactF32{CompareClass::kExact, DType::kF32, DType::kF32, false};
constexpr OutputRule kExactI32{CompareClass::kExact, DType::kI32, DType::kF32, false};

TEST(JudgeElement, SettlesEveryKindOfNumber) {
  struct Case {
    const char* name;
    OutputRule rule;
    ExpectedElement expected;
    double actual;
    ElementResult result;
  };
  constexpr auto kRight = ElementResult::kRight;
  constexpr auto kWrong = ElementResult::kWrong;
  constexpr auto kExcluded = ElementResult::kExcluded;
  const Case cases[] = {
      {"equal", kF32, {1.0, 0.1}, 1.0, kRight},
      {"just inside the bound", kF32, {100.0, 1.0}, 101.0, kRight},
      {"just outside the bound", kF32, {100.0, 1.0}, 101.01, kWrong},
      {"just inside below", kF32, {100.0, 1.0}, 99.0, kRight},
      {"just outside below", kF32, {100.0, 1.0}, 98.99, kWrong},
      {"half a step is the output's own rounding", kF32, {1.0 + 0.5 * kStep1, 0.0}, 1.0 + kStep1, kRight},
      {"a whole step beyond a zero bound", kF32, {1.0, 0.0}, 1.0 + kStep1, kWrong},
      {"the step of the output, not of the arithmetic", kBf16, {1.0, 0.0}, 1.0 + 0x1p-8, kRight},
      {"two thirds of a bf16 step", kBf16, {1.0, 0.0}, 1.0 + 0x1.6p-8, kWrong},
      {"near zero within the bound", kF32, {0.0, 1.0}, 0.9, kRight},
      {"minus zero", kF32, {0.0, 0.0}, -0.0, kRight},
      {"the smallest subnormal rounded away", kF32, {0x1p-149, 0.0}, 0.0, kRight},
      {"two subnormal steps", kF32, {0x1p-148, 0.0}, 0.0, kWrong},
      {"flushed where flushing is allowed", kFlush, {0x1p-127, 0.0}, 0.0, kRight},
      {"flushed where it is not", kF32, {0x1p-127, 0.0}, 0.0, kWrong},
      {"a normal number is never flushed", kFlush, {0x1p-124, 0.0}, 0.0, kWrong},
      {"NaN instead of a number", kF32, {1.0, 1.0}, kNaN, kWrong},
      {"a number instead of NaN", kF32, {kNaN, 1.0}, 1.0, kWrong},
      {"NaN where NaN was due", kF32, {kNaN, 0.0}, kNaN, kRight},
      {"overflow to infinity", kF32, {3e38, 1e30}, kInf, kWrong},
      {"minus infinity for a number", kF32, {1.0, 1.0}, -kInf, kWrong},
      {"infinity of the right sign", kF32, {kInf, 0.0}, kInf, kRight},
      {"infinity of the wrong sign", kF32, {kInf, 0.0}, -kInf, kWrong},
      {"a number for infinity", kF32, {kInf, 0.0}, 3e38, kWrong},
      {"a bound without end tells nothing", kF32, {1.0, kInf}, 5.0, kExcluded},
      {"a NaN bound tells nothing", kF32, {1.0, kNaN}, 5.0, kExcluded},
      {"an ambiguous branch tells nothing", kF32, {1.0, 0.0, false, true}, 5.0, kExcluded},
      {"exact, equal", kF32, {3.0, 10.0, true}, 3.0, kRight},
      {"exact, one step off though within the bound", kF32, {3.0, 10.0, true}, 3.0 + 0x1p-22, kWrong},
      {"exact, one step below a power of two", kF32, {1.0, 10.0, true}, 1.0 - 0x1p-24, kWrong},
      {"exact sum, output rounds to nearest", kBf16, {1.0 + 0x1.4p-8, 0.0, true}, 1.0 + 0x1p-7, kRight},
      {"exact sum, output truncates", kBf16, {1.0 + 0x1.4p-8, 0.0, true}, 1.0, kWrong},
      {"exact sum at the midpoint, either neighbour", kBf16, {1.0 + 0x1p-8, 0.0, true}, 1.0 + 0x1p-7, kRight},
      {"exact NaN", kF32, {3.0, 10.0, true}, kNaN, kWrong},
      {"class exact, equal", kExactF32, {0.1F, 0.0}, 0.1F, kRight},
      {"class exact, bound is no excuse", kExactF32, {1.0, 0.5}, 1.25, kWrong},
      {"class exact, infinite bound is no excuse", kExactF32, {1.0, kInf}, 1.25, kWrong},
      {"exact sum, a stochastic output that went the far way", kBf16, {1.0 + 0x1p-9, 0.0, true}, 1.0 + 0x1p-7, kWrong},
      {"a stochastic output that went the far way", kBf16, {1.0 + 0x1p-9, 0.0}, 1.0 + 0x1p-7, kWrong},
      {"a truncated output", kBf16, {1.0 + 0x1.8p-8, 0.0}, 1.0, kWrong},
      {"class exact, zero's sign", kExactF32, {-0.0, 0.0}, 0.0, kRight},
      {"integer, equal", kExactI32, {7.0, 0.0}, 7.0, kRight},
      {"integer, off by one", kExactI32, {7.0, 0.0}, 8.0, kWrong},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(JudgeElement(c.rule, c.expected, c.actual).result, c.result);
  }
}

// An output narrower than its arithmetic may overflow where the arithmetic does not.
TEST(JudgeElement, OverflowIsTheFormatsOwn) {
  struct Case {
    const char* name;
    OutputRule rule;
    ExpectedElement expected;
    double actual;
    ElementResult result;
  };
  constexpr auto kRight = ElementResult::kRight;
  constexpr auto kWrong = ElementResult::kWrong;
  constexpr auto kExcluded = ElementResult::kExcluded;
  const Case cases[] = {
      {"f16 overflows to infinity", kF16, {70000.0, 0.0, true}, kInf, kRight},
      {"f16 saturates instead", kF16, {70000.0, 0.0, true}, 65504.0, kWrong},
      {"e4m3 overflows to NaN", kE4m3, {500.0, 0.0, true}, kNaN, kRight},
      {"e4m3 saturates instead", kE4m3, {500.0, 0.0, true}, 448.0, kWrong},
      {"e4m3, the last value that rounds to the largest", kE4m3, {464.0, 0.0, true}, 448.0, kRight},
      {"f16, the bound reaches beyond the largest", kF16, {65510.0, 20.0}, kInf, kExcluded},
      {"f16, the bound does not reach so far", kF16, {65504.0, 1.0}, kInf, kWrong},
      {"f16 near its largest is judged as anywhere", kF16, {65504.0, 1.0}, 65472.0, kWrong},
      {"f16 surely beyond, infinity", kF16, {-70000.0, 5.0}, -kInf, kRight},
      {"f16 surely beyond, saturated", kF16, {-70000.0, 5.0}, -65504.0, kWrong},
      {"e4m3, overflow depends on the order", kE4m3, {460.0, 10.0}, kNaN, kExcluded},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(JudgeElement(c.rule, c.expected, c.actual).result, c.result);
  }
}

TEST(JudgeElement, SaysHowFarOff) {
  const ElementVerdict verdict = JudgeElement(kF32, {100.0, 1.0}, 103.0);
  EXPECT_DOUBLE_EQ(verdict.error, 3.0);
  EXPECT_NEAR(verdict.limit, 1.0, 1e-5);
  EXPECT_TRUE(std::isinf(JudgeElement(kF32, {100.0, 1.0}, kNaN).error));
}

// Slices of `size` elements around 1 whose errors are normal with these spreads, in units of u.
std::vector<SliceTally> Draw(size_t slices, int size, double candidate_u, double honest_u, double bound_u,
                             uint64_t seed, const OutputRule& rule = kF32, double shift_steps = 0) {
  Stream stream(Seed::FromNumber(seed));
  std::vector<SliceTally> tallies;
  for (size_t s = 0; s < slices; ++s) {
    SliceTally tally(static_cast<int64_t>(s), 3);
    for (int i = 0; i < size; ++i) {
      const double value = 1.0 + stream.Unit();
      double honest[3];
      for (double& h : honest) h = value + honest_u * kU * stream.Normal();
      const double actual = value + candidate_u * kU * stream.Normal() + shift_steps * StepOf(rule.dtype, value);
      tally.Add(rule, {value, bound_u * kU}, actual, honest);
    }
    tallies.push_back(std::move(tally));
  }
  return tallies;
}

TEST(JudgePrecision, MeasuresTheSpreadAgainstHonestOrders) {
  struct Case {
    const char* name;
    double candidate, honest;
    bool ok;
  };
  const Case cases[] = {
      {"as good as the honest ones", 10, 10, true},
      {"half as much again", 15, 10, true},
      {"three times as bad", 30, 10, false},
      {"honest ones are exact, one rounding is free", 1.0, 0, true},
      {"honest ones are exact, two roundings are free", 2.5, 0, true},
      {"honest ones are exact, six roundings are not", 6.0, 0, false},
      {"better than the honest ones", 0, 10, true},
      {"NaN", kNaN, 10, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    // The bound is a wall against nonsense, wide enough to let all of these through.
    EXPECT_EQ(JudgePrecision(Draw(64, 256, c.candidate, c.honest, 1000, 1), Texture::kRandom).ok, c.ok);
  }
}

TEST(JudgePrecision, FindsOneBadSliceAmongMany) {
  auto tallies = Draw(63, 256, 10, 10, 1000, 2);
  EXPECT_TRUE(JudgePrecision(tallies, Texture::kRandom).ok);
  auto bad = Draw(1, 256, 80, 10, 1000, 3);
  tallies.push_back(bad[0]);
  const PrecisionVerdict verdict = JudgePrecision(tallies, Texture::kRandom);
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.rule, "rms of one slice");
  EXPECT_GT(verdict.worst, 1.0);
  // Four times as bad, one slice may be by a shared error.
  auto unlucky = Draw(63, 256, 10, 10, 1000, 2);
  unlucky.push_back(Draw(1, 256, 40, 10, 1000, 3)[0]);
  EXPECT_TRUE(JudgePrecision(unlucky, Texture::kRandom).ok);
}

// Rows of one value, one-hot rows: every slice repeats one rounding, whose sign is no bias.
TEST(JudgePrecision, RepeatedSlicesAreOneDraw) {
  std::vector<SliceTally> tallies;
  for (int s = 0; s < 64; ++s) {
    SliceTally tally(s, 1);
    const double value = 1.0 + 0.4 * kStep1, honest[] = {value};
    for (int i = 0; i < 64; ++i) tally.Add(kF32, {value, 0.4 * kStep1}, 1.0, honest);
    tallies.push_back(std::move(tally));
  }
  EXPECT_NE(JudgePrecision(tallies, Texture::kRandom).rule, "bias");
}

// The honest error of one sum is now and then as good as none; many elements or many slices tell.
TEST(JudgePrecision, AFewElementsAloneAreNoMeasure) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_TRUE(JudgePrecision(Draw(1, 1, 20, 20, 1000, seed), Texture::kRandom).ok);
    EXPECT_TRUE(JudgePrecision(Draw(1, 8, 20, 20, 1000, seed), Texture::kRandom).ok);
  }
  EXPECT_FALSE(JudgePrecision(Draw(1, 32, 400, 20, 1000, 1), Texture::kRandom).ok);
  EXPECT_FALSE(JudgePrecision(Draw(64, 1, 400, 20, 1000, 1), Texture::kRandom).ok);
}

// All errors of a slice share one factor, so each slice is a single draw: the ensemble is small by
// luck in some of them.  An honest kernel must not be refused for that.
TEST(JudgePrecision, ForgivesOneSharedFactorPerSlice) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Stream stream(Seed::FromNumber(seed));
    std::vector<SliceTally> tallies;
    for (int s = 0; s < 64; ++s) {
      SliceTally tally(s, 4);
      const double factor = stream.Normal();
      double honest_factor[4];
      for (double& h : honest_factor) h = stream.Normal();
      for (int i = 0; i < 64; ++i) {
        const double weight = stream.Unit();
        double honest[4];
        for (size_t h = 0; h < 4; ++h) honest[h] = 1.0 + 20 * kU * weight * honest_factor[h];
        tally.Add(kF32, {1.0, 200 * kU}, 1.0 + 20 * kU * weight * factor, honest);
      }
      tallies.push_back(std::move(tally));
    }
    if (!JudgePrecision(tallies, Texture::kRandom).ok) ++refused;
  }
  EXPECT_EQ(refused, 0);
}

// One row in sixty-four is of a kind whose errors are thirty times the others', and in some of these
// few all honest draws are small.
TEST(JudgePrecision, ForgivesRareKindsOfRows) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Stream stream(Seed::FromNumber(seed));
    std::vector<SliceTally> tallies;
    for (int s = 0; s < 256; ++s) {
      SliceTally tally(s, 3);
      const double size = s % 64 == 0 ? 60 : 2, factor = stream.Normal();
      double honest[3];
      for (double& h : honest) h = 1.0 + size * kU * stream.Normal();
      for (int i = 0; i < 16; ++i) tally.Add(kF32, {1.0, 300 * kU}, 1.0 + size * kU * factor, honest);
      tallies.push_back(std::move(tally));
    }
    if (!JudgePrecision(tallies, Texture::kMixed).ok) ++refused;
  }
  EXPECT_EQ(refused, 0);
}

TEST(JudgePrecision, HoldsTheMeanError) {
  struct Case {
    const char* name;
    double shift_steps;
    bool ok;
  };
  const Case cases[] = {{"none", 0, true},
                        {"a fifth of a step", 0.2, true},
                        {"half a step: truncation", 0.5, false},
                        {"upward", -0.5, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    // Honest orders spread by half a bf16 step, so that the mean alone decides.
    const auto tallies = Draw(64, 256, 0, 0x1p16, 1, 4, kBf16, c.shift_steps);
    const PrecisionVerdict verdict = JudgePrecision(tallies, Texture::kRandom);
    EXPECT_EQ(verdict.ok, c.ok);
    if (!c.ok) {
      EXPECT_EQ(verdict.rule, "bias");
    }
  }
}

// Values of both signs: truncated ones lean neither up nor down, but toward zero.
TEST(JudgePrecision, SeesTruncationAmongBothSigns) {
  struct Case {
    const char* name;
    Rounding rounding;
    bool ok;
    const char* rule;
  };
  const Case cases[] = {{"to nearest", Rounding::kNearestEven, true, ""},
                        {"ties away", Rounding::kNearestAway, true, ""},
                        {"toward zero", Rounding::kTowardZero, false, "bias toward zero"},
                        {"up", Rounding::kUp, false, "bias"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Stream stream(Seed::FromNumber(11));
    std::vector<SliceTally> tallies;
    for (int64_t s = 0; s < 32; ++s) {
      SliceTally tally(s, 1);
      for (int i = 0; i < 128; ++i) {
        const double value = stream.Normal();
        // The bound of two roundings hides a truncation of either, and so does this spread.
        const double honest[] = {value + StepOf(DType::kF32, value)};
        tally.Add(kF32, {value, 0.75 * StepOf(DType::kF32, value)}, RoundTo(DType::kF32, value, c.rounding), honest);
      }
      tallies.push_back(std::move(tally));
    }
    const PrecisionVerdict verdict = JudgePrecision(tallies, Texture::kRandom);
    EXPECT_EQ(verdict.ok, c.ok);
    if (!c.ok) {
      EXPECT_EQ(verdict.rule, c.rule);
    }
  }
}

TEST(JudgePrecision, LeavesBiasToTheSpreadWhereTheBoundIsWide) {
  const auto tallies = Draw(64, 256, 0, 0x1p16, 0x1p18, 4, kBf16, 0.5);
  EXPECT_NE(JudgePrecision(tallies, Texture::kRandom).rule, "bias");
}

TEST(JudgePrecision, KnowsWhatAnEnsembleCanTell) {
  struct Case {
    const char* name;
    Texture texture;
    double candidate;
    bool ok;
  };
  const Case cases[] = {
      {"random: three times the worst everywhere", Texture::kRandom, 30, false},
      {"mixed: three times the worst everywhere", Texture::kMixed, 30, false},
      {"structured: another drift than the ensemble's", Texture::kStructured, 30, true},
      {"structured: nothing like an honest drift", Texture::kStructured, 90, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(JudgePrecision(Draw(64, 256, c.candidate, 10, 1000, 7), c.texture).ok, c.ok);
  }
  // A third of the slices drifts: the typical slice still decides where that may be.
  auto tallies = Draw(40, 256, 10, 10, 1000, 8);
  for (const SliceTally& drifting : Draw(20, 256, 40, 10, 1000, 9)) tallies.push_back(drifting);
  EXPECT_TRUE(JudgePrecision(tallies, Texture::kMixed).ok);
  EXPECT_FALSE(JudgePrecision(tallies, Texture::kRandom).ok);
}

TEST(JudgePrecision, IsSilentWithoutHonestOrders) {
  std::vector<SliceTally> tallies;
  for (int s = 0; s < 20; ++s) {
    SliceTally tally(s, 0);
    for (int i = 0; i < 40; ++i) tally.Add(kF32, {1.0, 1000 * kU}, 1.0 + 900 * kU, {});
    tallies.push_back(std::move(tally));
  }
  const PrecisionVerdict verdict = JudgePrecision(tallies, Texture::kRandom);
  EXPECT_TRUE(verdict.ok);
  EXPECT_EQ(verdict.worst, 0);
}

TEST(JoinSmallSlices, KeepsEveryElementAndLosesNone) {
  for (const int size : {1, 5, 31, 32, 100}) {
    SCOPED_TRACE(size);
    const auto joined = JoinSmallSlices(Draw(70, size, 1, 1, 10, 5));
    int64_t judged = 0;
    for (const SliceTally& tally : joined) {
      judged += tally.judged();
      EXPECT_GE(tally.judged(), kSliceElements);
    }
    EXPECT_EQ(judged, 70 * size);
  }
  EXPECT_EQ(JoinSmallSlices(Draw(1, 3, 1, 1, 10, 6)).size(), 1U);
  EXPECT_TRUE(JoinSmallSlices({}).empty());
}

// A row of a rare kind among those without an ensemble is an error that no honest order could answer for.
TEST(JoinSmallSlices, KeepsWhatHasNoEnsembleApart) {
  std::vector<SliceTally> tallies;
  for (int s = 0; s < 48; ++s) {
    SliceTally tally(s, 1);
    const double honest[] = {1.0 + 1e-4};
    tally.Add(kF32, {1.0, 1e-3}, s == 44 ? 1.0 + 9e-4 : 1.0 + 1e-4,
              s < 40 ? std::span<const double>(honest) : std::span<const double>());
    tallies.push_back(std::move(tally));
  }
  const auto joined = JoinSmallSlices(tallies);
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_TRUE(joined[0].has_honest());
  EXPECT_EQ(joined[0].judged(), 40);
  EXPECT_NEAR(joined[0].error_rms(), joined[0].honest_rms(), 1e-4);
  EXPECT_FALSE(joined[1].has_honest());
  EXPECT_EQ(joined[1].judged(), 8);
}

// Two slices in one have the spread of all their elements, whichever of them is the better one.
TEST(JoinSmallSlices, HasTheSpreadOfAllItsElements) {
  const auto add = [](SliceTally& tally, double error) {
    for (int i = 0; i < 20; ++i) {
      const double honest[] = {1.0 + 0.1 * error};
      tally.Add(kF32, {1.0, 1e-3}, 1.0 + error, honest);
    }
  };
  SliceTally good(0, 1), bad(1, 1), all(0, 1);
  add(good, 1e-4), add(bad, 8e-4);
  add(all, 1e-4), add(all, 8e-4);
  for (const auto& pair : {std::vector{good, bad}, std::vector{bad, good}}) {
    const auto joined = JoinSmallSlices(pair);
    ASSERT_EQ(joined.size(), 1U);
    EXPECT_DOUBLE_EQ(joined[0].error_rms(), all.error_rms());
    EXPECT_DOUBLE_EQ(joined[0].bound_rms(), all.bound_rms());
    EXPECT_DOUBLE_EQ(joined[0].honest_rms(), all.honest_rms());
    EXPECT_DOUBLE_EQ(joined[0].unit(), all.unit());
  }
}

// An element with large terms among plain ones must not be the whole of the spread.
TEST(SliceTally, CountsEveryElementByItsOwnCondition) {
  SliceTally tally(0, 0);
  tally.Add(kF32, {1.0, 1e-3}, 1.0 + 9e-4, {});
  tally.Add(kF32, {1e4, 10.0}, 1e4 + 5.0, {});
  EXPECT_NEAR(tally.error_rms(), std::sqrt((0.9 * 0.9 + 0.5 * 0.5) / 2), 1e-3);
}

TEST(SliceTally, CountsWhatNobodyCanJudge) {
  SliceTally tally(0, 0);
  tally.Add(kF32, {1.0, kInf}, 1.0, {});
  tally.Add(kF32, {1.0, 0.1}, 1.0, {});
  EXPECT_EQ(tally.excluded(), 1);
  EXPECT_EQ(tally.judged(), 1);
}

}  // namespace
}  // namespace assay
