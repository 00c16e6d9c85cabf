// SPDX-License-Identifier: Apache-2.0
#include "numerics/assay/block_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kMxElements[] = {DType::kE4m3, DType::kE5m2, DType::kE2m1, DType::kI8};

double Random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<double>(static_cast<int64_t>(state)) * 0x1p-63;
}

// OCP v1.0, 6.3 by hand: the largest of the block is 5 = 1.25 * 2^2.
TEST(Mx, ScaleIsThePowerOfTheLargestOverThatOfTheLargestElement) {
  struct Case {
    DType element;
    int floor, ceil;  // exponents of the scale
  };
  // emax: e4m3 8, e5m2 15, e2m1 2, int8 0.  Up: 5/448, 5/57344, 5/6 and 5/(127/64) to the next power.
  const Case cases[] = {{DType::kE4m3, -6, -6}, {DType::kE5m2, -13, -13}, {DType::kE2m1, 0, 0}, {DType::kI8, 2, 2}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(DTypeName(c.element)));
    EXPECT_EQ(MxScaleCode(c.element, 5.0, MxScaleRule::kFloor), static_cast<uint64_t>(c.floor + 127));
    EXPECT_EQ(MxScaleCode(c.element, 5.0, MxScaleRule::kCeil), static_cast<uint64_t>(c.ceil + 127));
  }
  // Where the rules part: 7.5 = 1.875 * 2^2 is above the largest significand of e4m3 (1.75) and e2m1 (1.5).
  EXPECT_EQ(MxScaleCode(DType::kE4m3, 7.5, MxScaleRule::kFloor), 121U);
  EXPECT_EQ(MxScaleCode(DType::kE4m3, 7.5, MxScaleRule::kCeil), 122U);
  EXPECT_EQ(MxScaleCode(DType::kE2m1, 7.5, MxScaleRule::kFloor), 127U);
  EXPECT_EQ(MxScaleCode(DType::kE2m1, 7.5, MxScaleRule::kCeil), 128U);
  EXPECT_EQ(MxScaleCode(DType::kE2m1, 6.0, MxScaleRule::kCeil), 127U) << "six fits as it is";
  EXPECT_EQ(MxScaleCode(DType::kE2m1, std::nextafter(6.0, 7.0), MxScaleRule::kCeil), 128U);
}

TEST(Mx, ScaleAtTheEndsOfItsRange) {
  for (const DType element : kMxElements) {
    SCOPED_TRACE(std::string(DTypeName(element)));
    for (const MxScaleRule rule : {MxScaleRule::kFloor, MxScaleRule::kCeil}) {
      EXPECT_EQ(MxScaleCode(element, 0.0, rule), 0U);
      EXPECT_EQ(MxScaleCode(element, 0x1p-200, rule), 0U);
      EXPECT_EQ(MxScaleCode(element, 0x1p300, rule), 254U);
      EXPECT_EQ(MxScaleCode(element, kInf, rule), 255U);
      EXPECT_EQ(MxScaleCode(element, std::nan(""), rule), 255U);
    }
  }
}

// Each element is the nearest that its scale allows, and with a scale rounded up nothing saturates.
TEST(Mx, ElementsAreTheNearest) {
  uint64_t state = 88172645463325252U;
  for (const DType element : kMxElements) {
    SCOPED_TRACE(std::string(DTypeName(element)));
    const double top = Traits(element).max * (element == DType::kI8 ? kMxIntegerStep : 1.0);
    std::vector<double> grid;
    for (uint64_t code = 0; code < uint64_t{1} << Traits(element).bits; ++code) {
      if (std::isfinite(MxElement(element, code))) grid.push_back(MxElement(element, code));
    }
    for (int block = 0; block < 200; ++block) {
      std::array<double, kMxBlock> values{};
      const double size = std::ldexp(1.0, static_cast<int>(100.0 * Random(state)));
      for (double& v : values) v = size * Random(state);
      for (const MxScaleRule rule : {MxScaleRule::kFloor, MxScaleRule::kCeil}) {
        std::array<uint8_t, kMxBlock> codes{};
        const uint64_t scale = EncodeMx(element, values, codes, rule);
        const double unit = DecodeBits(DType::kE8m0, scale);
        for (size_t i = 0; i < values.size(); ++i) {
          const double decoded = DecodeMx(element, scale, codes[i]);
          double nearest = kInf;
          for (const double g : grid) nearest = std::min(nearest, std::fabs(g * unit - values[i]));
          ASSERT_EQ(std::fabs(decoded - values[i]), nearest) << values[i];
          if (rule == MxScaleRule::kCeil) {
            ASSERT_LE(std::fabs(values[i]), top * unit) << "nothing saturates";
          }
        }
      }
    }
  }
}

TEST(Mx, ABlockWithoutAScaleIsNanThroughout) {
  for (const double bad : {kInf, -kInf, std::nan("")}) {
    const std::array<double, 4> values = {1.0, bad, -3.0, 0.0};
    std::array<uint8_t, 4> codes{};
    const uint64_t scale = EncodeMx(DType::kE4m3, values, codes);
    for (const uint8_t code : codes) EXPECT_TRUE(std::isnan(DecodeMx(DType::kE4m3, scale, code)));
  }
  // An element that is NaN under a good scale is NaN alone.
  EXPECT_TRUE(std::isnan(DecodeMx(DType::kE4m3, 127, 0x7F)));
  EXPECT_EQ(DecodeMx(DType::kE5m2, 127, 0x7C), kInf);
  EXPECT_EQ(DecodeMx(DType::kI8, 127, 0x40), 1.0);
  EXPECT_EQ(DecodeMx(DType::kI8, 127, 0x80), -2.0);
}

TEST(Mx, TheFloorRuleSaturatesWhatItsScaleCannotReach) {
  const std::array<double, 2> values = {7.5, -7.9};
  std::array<uint8_t, 2> codes{};
  const uint64_t scale = EncodeMx(DType::kE2m1, values, codes, MxScaleRule::kFloor);
  EXPECT_EQ(DecodeMx(DType::kE2m1, scale, codes[0]), 6.0);
  EXPECT_EQ(DecodeMx(DType::kE2m1, scale, codes[1]), -6.0);
}

TEST(Nv, TheLargestBlockHasTheLargestScale) {
  const double tensor = NvTensorScale(2688.0 * 4.0);
  EXPECT_EQ(tensor, 4.0);
  const std::array<double, kNvBlock> values = {2688.0 * 4.0, -5376.0, 0.0};
  std::array<uint8_t, kNvBlock> codes{};
  const uint64_t scale = EncodeNv(tensor, values, codes);
  EXPECT_EQ(DecodeBits(DType::kE4m3, scale), 448.0);
  EXPECT_EQ(DecodeNv(tensor, scale, codes[0]), values[0]);
  EXPECT_EQ(DecodeNv(tensor, scale, codes[1]), values[1]);
  EXPECT_EQ(DecodeNv(tensor, scale, codes[2]), 0.0);
  EXPECT_EQ(NvTensorScale(0.0), 1.0);
  EXPECT_GT(NvTensorScale(1e-44), 0.0) << "never a scale of zero";
}

TEST(Nv, ElementsAreTheNearestInEveryMode) {
  uint64_t state = 1234567;
  for (int block = 0; block < 500; ++block) {
    const double tensor = RoundTo(DType::kF32, std::ldexp(1.0 + std::fabs(Random(state)), block % 60 - 30));
    std::array<double, kNvBlock> values{};
    for (double& v : values) v = 100.0 * tensor * Random(state);
    std::array<uint8_t, kNvBlock> codes{};
    const uint64_t scale = EncodeNv(tensor, values, codes);
    const double unit = DecodeBits(DType::kE4m3, scale) * tensor;
    ASSERT_GT(unit, 0.0);
    // The midpoints themselves, which a rounded quotient would miss.
    for (const double middle : {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0}) {
      const double at = middle * unit;
      for (const double x : {std::nextafter(at, 0.0), at, std::nextafter(at, kInf)}) {
        const double tie = x == at ? 0.0 : x < at ? -1e-3 : 1e-3;  // far from rounding, on the same side
        for (int r = 0; r < kRoundingCount; ++r) {
          const auto rounding = static_cast<Rounding>(r);
          for (const double sign : {1.0, -1.0}) {
            const double got = DecodeBits(DType::kE2m1, internal::NvElementCode(sign * x, unit, rounding));
            ASSERT_EQ(got, RoundTo(DType::kE2m1, sign * (middle + tie), rounding)) << x << " " << r;
          }
        }
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      double nearest = kInf;
      for (uint64_t code = 0; code < 16; ++code)
        nearest = std::min(nearest, std::fabs(DecodeNv(tensor, scale, code) - values[i]));
      ASSERT_EQ(std::fabs(DecodeNv(tensor, scale, codes[i]) - values[i]), nearest);
    }
  }
}

TEST(Nv, WhatHasNoScale) {
  std::array<uint8_t, 2> codes{};
  const std::array<double, 2> tiny = {0x1p-40, -0x1p-40};
  const uint64_t scale = EncodeNv(1.0, tiny, codes);
  EXPECT_EQ(scale, 0U);
  EXPECT_EQ(codes[0], 0U);
  EXPECT_EQ(codes[1], 8U) << "the sign of zero is kept";
  const std::array<double, 2> bad = {1.0, std::nan("")};
  EXPECT_TRUE(std::isnan(DecodeNv(1.0, EncodeNv(1.0, bad, codes), codes[0])));
}

}  // namespace
}  // namespace assay
