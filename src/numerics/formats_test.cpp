// SPDX-License-Identifier: Apache-2.0
#include "numerics/assay/formats.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Formats, StatesTheEdgesOfEachFormat) {
  struct Case {
    DType type;
    double u, normal, subnormal, max;
  };
  const Case cases[] = {
      {DType::kF64, 0x1p-53, 0x1p-1022, 0x1p-1074, 0x1.fffffffffffffp1023},
      {DType::kF32, 0x1p-24, 0x1p-126, 0x1p-149, 0x1.fffffep127},
      {DType::kTf32, 0x1p-11, 0x1p-126, 0x1p-136, 0x1.ffcp127},
      {DType::kBf16, 0x1p-8, 0x1p-126, 0x1p-133, 0x1.fep127},
      {DType::kF16, 0x1p-11, 0x1p-14, 0x1p-24, 65504.0},
      {DType::kE4m3, 0x1p-4, 0x1p-6, 0x1p-9, 448.0},
      {DType::kE5m2, 0x1p-3, 0x1p-14, 0x1p-16, 57344.0},
      {DType::kE2m1, 0x1p-2, 1.0, 0.5, 6.0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(DTypeName(c.type)));
    EXPECT_EQ(UnitRoundoff(c.type), c.u);
    EXPECT_EQ(SmallestNormal(c.type), c.normal);
    EXPECT_EQ(SmallestSubnormal(c.type), c.subnormal);
    EXPECT_EQ(Traits(c.type).max, c.max);
    EXPECT_TRUE(Representable(c.type, c.max));
    EXPECT_TRUE(Representable(c.type, c.subnormal));
    EXPECT_FALSE(Representable(c.type, c.type == DType::kF64 ? kInf * 0.0 : c.max * 1.0001) && c.type != DType::kF64);
  }
}

TEST(Formats, RoundsToNearestEven) {
  struct Case {
    const char* name;
    DType type;
    double x, rounded;
  };
  const Case cases[] = {
      {"bf16 tie to even below", DType::kBf16, 1.0 + 0x1p-8, 1.0},
      {"bf16 just above the tie", DType::kBf16, 1.0 + 0x1p-8 + 0x1p-30, 1.0 + 0x1p-7},
      {"bf16 tie to even above", DType::kBf16, 1.0 + 3 * 0x1p-8, 1.0 + 2 * 0x1p-7},
      {"f16 largest", DType::kF16, 65519.999, 65504.0},
      {"f16 overflows", DType::kF16, 65520.0, kInf},
      {"f16 negative overflow", DType::kF16, -65520.0, -kInf},
      {"f16 tie at half of the smallest", DType::kF16, 0x1p-25, 0.0},
      {"f16 above half of the smallest", DType::kF16, 0x1.01p-25, 0x1p-24},
      {"f16 three halves of the smallest", DType::kF16, 0x1.8p-24, 0x1p-23},
      {"tf32", DType::kTf32, 1.0 + 0x1p-11 + 0x1p-20, 1.0 + 0x1p-10},
      {"e4m3 largest", DType::kE4m3, 463.9, 448.0},
      {"e4m3 tie at the top rounds to 448", DType::kE4m3, 432.0, 448.0},
      {"e5m2 overflow", DType::kE5m2, 61440.0, kInf},
      {"e5m2 below overflow", DType::kE5m2, 61439.0, 57344.0},
      {"e2m1 saturates, having nothing else", DType::kE2m1, 100.0, 6.0},
      {"e2m1 tie", DType::kE2m1, 2.5, 2.0},
      {"e2m1 tie to even above", DType::kE2m1, 3.5, 4.0},
      {"i8 tie", DType::kI8, 2.5, 2.0},
      {"i8 saturates", DType::kI8, 300.0, 127.0},
      {"i8 saturates below", DType::kI8, -300.0, -128.0},
      {"u8 below zero", DType::kU8, -3.0, 0.0},
      {"i4", DType::kI4, -9.0, -8.0},
      {"f32 subnormal", DType::kF32, 0x1.8p-149, 0x1p-148},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(RoundTo(c.type, c.x), c.rounded);
  }
  EXPECT_TRUE(std::isnan(RoundTo(DType::kE4m3, 1000.0)));
  EXPECT_TRUE(std::isnan(RoundTo(DType::kBf16, kNan)));
  EXPECT_TRUE(std::signbit(RoundTo(DType::kBf16, -0x1p-140)));
}

TEST(Formats, TruncatesAndSaturatesOnRequest) {
  EXPECT_EQ(RoundTo(DType::kBf16, 1.0 + 0x1.fp-8, Rounding::kTowardZero), 1.0);
  EXPECT_EQ(RoundTo(DType::kBf16, -1.0 - 0x1.fp-8, Rounding::kTowardZero), -1.0);
  EXPECT_EQ(RoundTo(DType::kF16, 1e9, Rounding::kTowardZero), 65504.0);
  EXPECT_EQ(RoundTo(DType::kF16, -1e9, Rounding::kNearestEven, Overflow::kSaturate), -65504.0);
  EXPECT_EQ(RoundTo(DType::kE4m3, 1e9, Rounding::kNearestEven, Overflow::kSaturate), 448.0);
  EXPECT_EQ(RoundTo(DType::kF32, 1.0 + 0x1.fp-24, Rounding::kTowardZero), 1.0);
}

class SmallFormats : public ::testing::TestWithParam<DType> {};

// Every pattern is a fixed point of decoding and encoding, and values grow with the pattern.
TEST_P(SmallFormats, EveryPatternSurvivesTheRoundTrip) {
  const DType type = GetParam();
  const uint64_t patterns = uint64_t{1} << Traits(type).bits;
  double previous = -1.0;
  for (uint64_t pattern = 0; pattern < patterns; ++pattern) {
    const double value = DecodeBits(type, pattern);
    if (std::isnan(value)) continue;
    ASSERT_EQ(EncodeBits(type, value), pattern) << value;
    ASSERT_TRUE(std::isinf(value) || Representable(type, value)) << value;
    if (pattern < patterns / 2) {
      ASSERT_GT(value, previous);
      previous = value;
    }
  }
}

// The nearest value found by search over all of them is the one that RoundTo gives.
TEST_P(SmallFormats, RoundsToTheNearestOfAllValues) {
  const DType type = GetParam();
  std::vector<double> values;
  for (uint64_t pattern = 0; pattern < uint64_t{1} << (Traits(type).bits - 1); ++pattern) {
    const double value = DecodeBits(type, pattern);
    if (std::isfinite(value)) values.push_back(value);
  }
  for (size_t i = 0; i + 1 < values.size(); i += 3) {
    const double low = values[i], high = values[i + 1], middle = low + (high - low) / 2.0;
    ASSERT_EQ(RoundTo(type, std::nextafter(middle, 0.0)), low);
    ASSERT_EQ(RoundTo(type, std::nextafter(middle, kInf)), high);
    ASSERT_EQ(RoundTo(type, middle), i % 2 == 0 ? low : high);
    ASSERT_EQ(StepAt(type, low), high - low);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallFormats,
                         ::testing::Values(DType::kBf16, DType::kF16, DType::kE4m3, DType::kE5m2, DType::kE2m1),
                         [](const auto& type) { return std::string(DTypeName(type.param)); });

TEST(Formats, IntegersSurviveTheRoundTrip) {
  for (const DType type : {DType::kI16, DType::kI8, DType::kI4, DType::kU8}) {
    for (uint64_t pattern = 0; pattern < uint64_t{1} << Traits(type).bits; ++pattern) {
      ASSERT_EQ(EncodeBits(type, DecodeBits(type, pattern)), pattern);
    }
  }
}

// The float of the processor is an independent implementation of f32.
TEST(Formats, AgreesWithTheProcessorOnSinglePrecision) {
  uint64_t state = 88172645463325252U;
  for (int i = 0; i < 200000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const double x = std::ldexp(static_cast<double>(static_cast<int64_t>(state)), static_cast<int>(state % 240) - 180);
    const double rounded = RoundTo(DType::kF32, x);
    ASSERT_EQ(rounded, static_cast<double>(static_cast<float>(x)));
    ASSERT_LE(std::fabs(rounded - x), 0.5 * StepAt(DType::kF32, x));
    ASSERT_EQ(RoundTo(DType::kF32, x, Rounding::kNearestEven, Overflow::kSaturate), rounded) << "the general path";
  }
}

TEST(Formats, PacksFourBitsLowNibbleFirst) {
  std::array<std::byte, 2> memory{};
  for (int i = 0; i < 4; ++i) StoreElement(DType::kI4, memory.data(), i, i - 2.0);
  EXPECT_EQ(static_cast<int>(memory[0]), 0xFE);
  EXPECT_EQ(static_cast<int>(memory[1]), 0x10);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(LoadElement(DType::kI4, memory.data(), i), i - 2.0);
  EXPECT_EQ(StorageBytes(DType::kI4, 3), 2);
}

TEST(Formats, NamesGoBothWays) {
  for (int i = 0; i < kDTypeCount; ++i) {
    DType type{};
    ASSERT_TRUE(DTypeFromName(kFormats[i].name, type));
    EXPECT_EQ(static_cast<int>(type), i);
  }
  DType type{};
  EXPECT_FALSE(DTypeFromName("f31", type));
}

}  // namespace
}  // namespace assay
