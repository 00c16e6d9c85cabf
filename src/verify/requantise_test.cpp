// SPDX-License-Identifier: Apache-2.0
#include "verify/requantise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

OutputRule Int8(TieRule round = TieRule::kHalfEven, double low = -128, double high = 127) {
  return {CompareClass::kRequantise, DType::kI8, DType::kF32, false, round, low, high};
}
OutputRule E4m3(TieRule round = TieRule::kHalfEven) {
  return {CompareClass::kRequantise, DType::kE4m3, DType::kF32, false, round, -448, 448};
}

TEST(CodeOf, FollowsEachRule) {
  struct Case {
    double value, half_even, half_away, half_up, toward_zero, down;
  };
  const Case cases[] = {
      {0.0, 0, 0, 0, 0, 0},
      {0.5, 0, 1, 1, 0, 0},
      {1.5, 2, 2, 2, 1, 1},
      {2.5, 2, 3, 3, 2, 2},
      {-0.5, 0, -1, 0, 0, -1},
      {-1.5, -2, -2, -1, -1, -2},
      {2.49, 2, 2, 2, 2, 2},
      {2.51, 3, 3, 3, 2, 2},
      {-2.51, -3, -3, -3, -2, -3},
      {126.5, 126, 127, 127, 126, 126},
      {127.5, 127, 127, 127, 127, 127},
      {1e9, 127, 127, 127, 127, 127},
      {-1e9, -128, -128, -128, -128, -128},
      {kInf, 127, 127, 127, 127, 127},
      {-128.5, -128, -128, -128, -128, -128},
      {-127.5, -128, -128, -127, -127, -128},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.value);
    EXPECT_EQ(CodeOf(Int8(TieRule::kHalfEven), c.value), c.half_even);
    EXPECT_EQ(CodeOf(Int8(TieRule::kHalfAway), c.value), c.half_away);
    EXPECT_EQ(CodeOf(Int8(TieRule::kHalfUp), c.value), c.half_up);
    EXPECT_EQ(CodeOf(Int8(TieRule::kTowardZero), c.value), c.toward_zero);
    EXPECT_EQ(CodeOf(Int8(TieRule::kDown), c.value), c.down);
  }
}

TEST(CodeOf, KnowsGridsWhoseStepsGrow) {
  EXPECT_EQ(CodeOf(E4m3(), 17.0), 16.0);  // between 16 and 18, 16 has the even significand
  EXPECT_EQ(CodeOf(E4m3(), 19.0), 20.0);
  EXPECT_EQ(CodeOf(E4m3(TieRule::kHalfAway), 17.0), 18.0);
  EXPECT_EQ(CodeOf(E4m3(TieRule::kDown), -17.0), -18.0);
  EXPECT_EQ(CodeOf(E4m3(), 15.5), 16.0);  // the tie below a power of two
  EXPECT_EQ(CodeOf(E4m3(), 1000.0), 448.0);
  EXPECT_EQ(CodeOf(E4m3(), 0x1p-11), 0.0);
}

// Where nearest values round to themselves and to nobody else's code: both sides of every edge.
TEST(DistanceToCode, IsZeroOnlyForTheOwnCode) {
  for (const OutputRule& rule : {Int8(), Int8(TieRule::kDown), Int8(TieRule::kTowardZero), Int8(TieRule::kHalfUp),
                                 E4m3(), E4m3(TieRule::kTowardZero)}) {
    Stream stream(Seed::FromNumber(7));
    for (int i = 0; i < 2000; ++i) {
      const double value = 150.0 * stream.Normal();
      const double code = CodeOf(rule, value);
      EXPECT_EQ(DistanceToCode(rule, value, code), 0.0) << value;
      // A value moved by the distance, and a little more, has that code.
      const double other = CodeOf(rule, value + 20.0 * stream.Normal());
      if (other == code) continue;
      const double distance = DistanceToCode(rule, value, other), side = other > code ? 1.0 : -1.0;
      EXPECT_GT(distance, 0.0);
      EXPECT_EQ(CodeOf(rule, value + side * (distance + 1e-9)), other) << value;
      EXPECT_NE(CodeOf(rule, value + side * (distance - 1e-9)), other) << value;
    }
  }
}

TEST(JudgeCode, SettlesEveryKindOfCode) {
  constexpr auto kRight = ElementResult::kRight;
  constexpr auto kWrong = ElementResult::kWrong;
  constexpr auto kExcluded = ElementResult::kExcluded;
  struct Case {
    const char* name;
    OutputRule rule;
    ExpectedElement expected;
    double actual;
    ElementResult result;
  };
  const Case cases[] = {
      {"its own code", Int8(), {3.2, 1e-3}, 3, kRight},
      {"one off where the boundary is within the bound", Int8(), {3.4995, 1e-3}, 4, kRight},
      {"one off where it is not", Int8(), {3.4985, 1e-3}, 4, kWrong},
      {"the other side of the boundary", Int8(), {3.4995, 1e-3}, 2, kWrong},
      {"two off is never right", Int8(), {3.4995, 1e-3}, 5, kWrong},
      {"a forced tie, to even", Int8(), {2.5, 0.0}, 2, kRight},
      {"a forced tie, to odd", Int8(), {2.5, 0.0}, 3, kWrong},
      {"a tie that every order computes exactly", Int8(), {2.5, 1e-3, true}, 3, kWrong},
      {"a tie within a bound goes either way", Int8(), {2.5, 1e-6}, 3, kRight},
      {"away from zero where the contract says so", Int8(TieRule::kHalfAway), {2.5, 0.0}, 3, kRight},
      {"saturated", Int8(), {200.0, 1e-3}, 127, kRight},
      {"wrapped around", Int8(), {200.0, 1e-3}, -56, kWrong},
      {"beyond the clamp", Int8(TieRule::kHalfEven, -127, 127), {-300.0, 1e-3}, -128, kWrong},
      {"an infinite value saturates", Int8(), {-kInf, 0.0}, -128, kRight},
      {"NaN has no integer", Int8(), {kNaN, 0.0}, 5, kExcluded},
      {"NaN in a float format", E4m3(), {kNaN, 0.0}, kNaN, kRight},
      {"a number for NaN", E4m3(), {kNaN, 0.0}, 448, kWrong},
      {"NaN for a number", E4m3(), {3.0, 0.1}, kNaN, kWrong},
      {"a bound of several steps covers several codes", Int8(), {3.2, 2.0}, 5, kRight},
      {"and no more", Int8(), {3.2, 2.0}, 6, kWrong},
      {"a bound without end", Int8(), {3.2, kInf}, 5, kExcluded},
      {"an ambiguous branch", Int8(), {3.2, 0.0, false, true}, 5, kExcluded},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(JudgeCode(c.rule, c.expected, c.actual).result, c.result);
  }
}

// Values whose bound is wide: single elements may go either way, all of them may not.
struct Family {
  const char* name;
  TieRule round;
  double spread;  // of the error before rounding, in steps
  double shift;
  bool ok;
};

PrecisionVerdict DirectionOf(const Family& family, Texture texture, int slices = 64) {
  Stream stream(Seed::FromNumber(11));
  OutputRule candidate = Int8(family.round);
  std::vector<DirectionTally> tallies;
  for (int s = 0; s < slices; ++s) {
    DirectionTally tally(s, 2);
    for (int i = 0; i < 64; ++i) {
      const ExpectedElement expected{40.0 * stream.Normal(), 0.6};
      const double honest[2] = {expected.value + 0.1 * stream.Normal(), expected.value + 0.1 * stream.Normal()};
      tally.Add(Int8(), expected, CodeOf(candidate, expected.value + family.spread * stream.Normal() + family.shift),
                honest);
    }
    tallies.push_back(tally);
  }
  return JudgeDirection(tallies, texture);
}

TEST(JudgeDirection, RefusesCodesThatLeanOneWay) {
  const Family families[] = {
      {"nearest", TieRule::kHalfEven, 0.1, 0.0, true},
      {"nearest, twice as noisy", TieRule::kHalfEven, 0.2, 0.0, true},
      {"nearest, a common error like that of honest orders", TieRule::kHalfEven, 0.1, 0.05, true},
      {"truncates toward zero", TieRule::kTowardZero, 0.0, 0.0, false},
      {"rounds down", TieRule::kDown, 0.0, 0.0, false},
      {"leans up by half a step", TieRule::kHalfEven, 0.1, 0.5, false},
  };
  for (const Family& family : families) {
    SCOPED_TRACE(family.name);
    EXPECT_EQ(DirectionOf(family, Texture::kRandom).ok, family.ok);
  }
  EXPECT_TRUE(DirectionOf(families[3], Texture::kStructured).ok) << "repeated values repeat their fractions";
  EXPECT_TRUE(DirectionOf(families[3], Texture::kRandom, 7).ok) << "few slices say nothing about a mean";
}

}  // namespace
}  // namespace assay
