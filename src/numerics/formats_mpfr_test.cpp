// SPDX-License-Identifier: Apache-2.0
// Every conversion against a second implementation: the layout of each format is written down here
// anew, and MPFR does the arithmetic.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "numerics/assay/formats.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class Real {
 public:
  explicit Real(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

enum class Kind { kIeee, kNoInfinity, kNothingSpecial, kUnsignedExponent };

// A format as its standard describes it, in bits; tf32 by the 19 bits that it has.
struct Layout {
  DType type;
  int exponent_bits, fraction_bits, bias;
  Kind kind;
  int shift;  // from the layout's pattern to the stored one

  int width() const { return exponent_bits + fraction_bits + (kind == Kind::kUnsignedExponent ? 0 : 1); }
  uint64_t top() const { return (uint64_t{1} << exponent_bits) - 1; }
};

const Layout kLayouts[] = {
    {DType::kTf32, 8, 10, 127, Kind::kIeee, 13},
    {DType::kBf16, 8, 7, 127, Kind::kIeee, 0},
    {DType::kF16, 5, 10, 15, Kind::kIeee, 0},
    {DType::kE4m3, 4, 3, 7, Kind::kNoInfinity, 0},
    {DType::kE5m2, 5, 2, 15, Kind::kIeee, 0},
    {DType::kE2m1, 2, 1, 1, Kind::kNothingSpecial, 0},
    {DType::kE8m0, 8, 0, 127, Kind::kUnsignedExponent, 0},
};

// The value of a pattern, by the definition of the format.
double ValueOf(const Layout& layout, uint64_t pattern) {
  const uint64_t fraction = pattern & ((uint64_t{1} << layout.fraction_bits) - 1);
  const uint64_t field = (pattern >> layout.fraction_bits) & layout.top();
  const bool negative = layout.kind != Kind::kUnsignedExponent && (pattern >> (layout.width() - 1) & 1U) != 0;
  const uint64_t all = (uint64_t{1} << layout.fraction_bits) - 1;
  const double sign = negative ? -1.0 : 1.0;
  if (field == layout.top() && layout.kind == Kind::kIeee) return fraction == 0 ? sign * kInf : std::nan("");
  if (field == layout.top() && layout.kind == Kind::kNoInfinity && fraction == all) return std::nan("");
  if (field == layout.top() && layout.kind == Kind::kUnsignedExponent) return std::nan("");
  const bool hidden = field != 0 || layout.kind == Kind::kUnsignedExponent;
  const uint64_t significand = fraction + (hidden ? uint64_t{1} << layout.fraction_bits : 0);
  const int exponent = (hidden ? static_cast<int>(field) : 1) - layout.bias - layout.fraction_bits;
  Real value(64);
  mpfr_set_ui_2exp(value.get(), significand, exponent, MPFR_RNDN);
  return sign * mpfr_get_d(value.get(), MPFR_RNDN);
}

double LargestOf(const Layout& layout) {
  uint64_t pattern = (uint64_t{1} << (layout.exponent_bits + layout.fraction_bits)) - 1;
  while (!std::isfinite(ValueOf(layout, pattern))) --pattern;
  return ValueOf(layout, pattern);
}

// MPFR's own rounding to the precision of the format, its exponents bounded below.
class Rounder {
 public:
  Rounder(int precision, int least_exponent) : value_(precision), low_(precision), high_(precision), middle_(80) {
    least_ = least_exponent;
    saved_ = mpfr_get_emin();
    // MPFR's significands lie in [1/2, 1).
    mpfr_set_emin(least_exponent + 1);
  }
  ~Rounder() { mpfr_set_emin(saved_); }
  Rounder(const Rounder&) = delete;
  Rounder& operator=(const Rounder&) = delete;

  double operator()(double x, Rounding rounding) {
    switch (rounding) {
      case Rounding::kNearestEven:
        return Round(value_, x, MPFR_RNDN);
      case Rounding::kTowardZero:
        return Round(value_, x, MPFR_RNDZ);
      case Rounding::kUp:
        return Round(value_, x, MPFR_RNDU);
      case Rounding::kDown:
        return Round(value_, x, MPFR_RNDD);
      case Rounding::kNearestAway:
        break;
    }
    // MPFR has no such mode: of the two neighbours the nearer, of equally near ones the larger.
    const double inner = Round(low_, x, MPFR_RNDZ), outer = Round(high_, x, MPFR_RNDA);
    mpfr_set_emin(saved_);
    mpfr_add(middle_.get(), low_.get(), high_.get(), MPFR_RNDN);
    mpfr_div_2ui(middle_.get(), middle_.get(), 1, MPFR_RNDN);
    const bool beyond = x < 0 ? mpfr_cmp_d(middle_.get(), x) >= 0 : mpfr_cmp_d(middle_.get(), x) <= 0;
    mpfr_set_emin(least_ + 1);
    return beyond ? outer : inner;
  }

 private:
  double Round(Real& into, double x, mpfr_rnd_t mode) {
    const int ternary = mpfr_set_d(into.get(), x, mode);
    mpfr_subnormalize(into.get(), ternary, mode);
    return mpfr_get_d(into.get(), MPFR_RNDN);
  }

  Real value_, low_, high_, middle_;
  mpfr_exp_t saved_ = 0;
  int least_ = 0;
};

int LeastExponent(const Layout& layout) {
  return layout.kind == Kind::kUnsignedExponent ? -layout.bias : 1 - layout.bias - layout.fraction_bits;
}

// What the standards say of a rounded value beyond the largest.
double Beyond(const Layout& layout, double x, Rounding rounding, Overflow overflow, double largest) {
  const double sign = x < 0 ? -1.0 : 1.0;
  const bool inward = rounding == Rounding::kTowardZero || rounding == (x < 0 ? Rounding::kUp : Rounding::kDown);
  if (layout.kind == Kind::kNothingSpecial || overflow == Overflow::kSaturate) return sign * largest;
  if (inward && std::isfinite(x)) return sign * largest;
  return layout.kind == Kind::kIeee ? sign * kInf : std::nan("");
}

bool SameNumber(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

std::string NameOf(const Layout& layout) { return std::string(DTypeName(layout.type)); }

class EveryPattern : public testing::TestWithParam<Layout> {
 protected:
  // All finite values that are not negative, in order.
  static std::vector<double> Values(const Layout& layout) {
    std::vector<double> values;
    for (uint64_t pattern = 0; pattern < uint64_t{1} << (layout.exponent_bits + layout.fraction_bits); ++pattern) {
      const double value = ValueOf(layout, pattern);
      if (std::isfinite(value)) values.push_back(value);
    }
    return values;
  }
};

TEST_P(EveryPattern, DecodesAsItsDefinitionSays) {
  const Layout& layout = GetParam();
  for (uint64_t pattern = 0; pattern < uint64_t{1} << layout.width(); ++pattern) {
    const double value = ValueOf(layout, pattern);
    const double decoded = DecodeBits(layout.type, pattern << layout.shift);
    ASSERT_TRUE(SameNumber(decoded, value)) << pattern << ": " << decoded << " for " << value;
    if (std::isnan(value)) continue;
    ASSERT_EQ(EncodeBits(layout.type, value), pattern << layout.shift) << value;
  }
}

// Each value, its neighbours in double, and the middle between it and the next value with its
// neighbours: every place where a rounding can change its mind.
TEST_P(EveryPattern, RoundsLikeMpfrAtEveryBoundary) {
  const Layout& layout = GetParam();
  const std::vector<double> values = Values(layout);
  const double largest = LargestOf(layout), least = values.front();
  const bool is_unsigned = layout.kind == Kind::kUnsignedExponent;
  Rounder round(layout.fraction_bits + 1, LeastExponent(layout));
  int64_t points = 0;
  const auto check = [&](double x) {
    for (int r = 0; r < kRoundingCount; ++r) {
      const auto rounding = static_cast<Rounding>(r);
      double expected = round(x, rounding);
      if (is_unsigned && expected < least) expected = least;
      for (const Overflow overflow : {Overflow::kSpecial, Overflow::kSaturate}) {
        const double due = std::fabs(expected) > largest ? Beyond(layout, x, rounding, overflow, largest) : expected;
        const double got = RoundTo(layout.type, x, rounding, overflow);
        ASSERT_TRUE(SameNumber(got, due)) << std::hexfloat << x << " mode " << r << ": " << got << " for " << due;
        ASSERT_TRUE(SameNumber(DecodeBits(layout.type, EncodeBits(layout.type, x, rounding, overflow)), due)) << x;
      }
    }
    ++points;
  };
  for (size_t i = 0; i < values.size(); ++i) {
    // Above the largest: as if the values went on with the same step.
    const double next = i + 1 < values.size() ? values[i + 1] : values[i] + (values[i] - values[i - 1]);
    const double middle = values[i] + (next - values[i]) / 2.0;
    for (const double point : {values[i], middle}) {
      for (const double x : {std::nextafter(point, -kInf), point, std::nextafter(point, kInf)}) {
        if (is_unsigned && x < 0.0) continue;
        check(x);
        if (!is_unsigned) check(-x);
      }
    }
    if (HasFatalFailure()) return;
  }
  for (const double x : {largest * 1.75, largest * 2.0, 1e300, std::numeric_limits<double>::max(), kInf, 1e-300,
                         std::numeric_limits<double>::denorm_min()}) {
    check(x);
    if (!is_unsigned) check(-x);
  }
  EXPECT_GT(points, static_cast<int64_t>(6 * values.size()));
}

TEST_P(EveryPattern, RoundingIsMonotoneIdempotentAndSymmetric) {
  const Layout& layout = GetParam();
  const std::vector<double> values = Values(layout);
  for (int r = 0; r < kRoundingCount; ++r) {
    const auto rounding = static_cast<Rounding>(r);
    const Rounding mirrored = rounding == Rounding::kUp     ? Rounding::kDown
                              : rounding == Rounding::kDown ? Rounding::kUp
                                                            : rounding;
    double previous = -kInf;
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      for (const double part : {0.0, 0.25, 0.5, 0.75}) {
        const double x = values[i] + part * (values[i + 1] - values[i]);
        const double rounded = RoundTo(layout.type, x, rounding);
        ASSERT_GE(rounded, previous) << x;
        ASSERT_EQ(RoundTo(layout.type, rounded, rounding), rounded);
        if (layout.kind != Kind::kUnsignedExponent) {
          ASSERT_EQ(RoundTo(layout.type, -x, mirrored), -rounded);
        }
        previous = rounded;
      }
    }
  }
}

// With `kBits` random bits, a part of k/2^kBits of a step goes up in exactly k of all draws.
TEST_P(EveryPattern, StochasticRoundingIsUnbiasedOverAllDraws) {
  constexpr int kBits = 5, kDraws = 1 << kBits;
  const Layout& layout = GetParam();
  const std::vector<double> values = Values(layout);
  const size_t stride = values.size() > 4096 ? 97 : 1;
  for (size_t i = 0; i + 1 < values.size(); i += stride) {
    const double step = values[i + 1] - values[i];
    for (int part = 0; part <= kDraws; part += 3) {
      const double x = values[i] + step * part / kDraws;
      int up = 0, up_mirrored = 0;
      for (uint64_t draw = 0; draw < kDraws; ++draw) {
        const double rounded = RoundStochastically(layout.type, x, draw, kBits);
        ASSERT_TRUE(rounded == values[i] || rounded == values[i + 1]) << x << " to " << rounded;
        up += rounded == values[i + 1] ? 1 : 0;
        if (layout.kind != Kind::kUnsignedExponent)
          up_mirrored += RoundStochastically(layout.type, -x, draw, kBits) == -values[i + 1] ? 1 : 0;
      }
      ASSERT_EQ(up, part) << x;
      if (layout.kind != Kind::kUnsignedExponent) {
        ASSERT_EQ(up_mirrored, part) << x;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryPattern, testing::ValuesIn(kLayouts),
                         [](const auto& layout) { return NameOf(layout.param); });

// f32 has too many patterns; random ones, all exponents, and what lies between neighbours.
TEST(SinglePrecision, RoundsLikeMpfr) {
  const Layout f32{DType::kF32, 8, 23, 127, Kind::kIeee, 0};
  const double largest = LargestOf(f32);
  Rounder round(24, LeastExponent(f32));
  uint64_t state = 88172645463325252U;
  for (int i = 0; i < 200000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const double low = ValueOf(f32, state >> 32 & 0xFFFFFFFFU);
    ASSERT_TRUE(SameNumber(DecodeBits(DType::kF32, state >> 32), low));
    if (!std::isfinite(low)) continue;
    const double step = StepAt(DType::kF32, low);
    const double parts[] = {0.0, 0.25, 0.5, 0.5 + 0x1p-20, 0.5 - 0x1p-20, 0.875};
    const double x = low + std::copysign(step * parts[state % 6], low);
    for (int r = 0; r < kRoundingCount; ++r) {
      const auto rounding = static_cast<Rounding>(r);
      const double expected = round(x, rounding);
      const double due =
          std::fabs(expected) > largest ? Beyond(f32, x, rounding, Overflow::kSpecial, largest) : expected;
      ASSERT_TRUE(SameNumber(RoundTo(DType::kF32, x, rounding), due)) << std::hexfloat << x << " mode " << r;
    }
  }
}

TEST(Integers, RoundLikeMpfrAndSaturate) {
  struct Case {
    DType type;
    double lowest, highest;
  };
  const Case cases[] = {
      {DType::kI4, -8, 7}, {DType::kI8, -128, 127}, {DType::kU8, 0, 255}, {DType::kI16, -32768, 32767}};
  Real value(64);
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(DTypeName(c.type)));
    for (double whole = c.lowest - 2; whole <= c.highest + 2; whole += 1) {
      for (const double part : {0.0, 0x1p-30, 0.25, 0.5 - 0x1p-30, 0.5, 0.5 + 0x1p-30, 0.75}) {
        const double x = whole + part;
        const auto settle = [&](double rounded) { return std::fmin(std::fmax(rounded, c.lowest), c.highest) + 0.0; };
        mpfr_set_d(value.get(), x, MPFR_RNDN);
        mpfr_rint(value.get(), value.get(), MPFR_RNDN);
        ASSERT_EQ(RoundTo(c.type, x), settle(mpfr_get_d(value.get(), MPFR_RNDN))) << x;
        mpfr_set_d(value.get(), x, MPFR_RNDN);
        mpfr_round(value.get(), value.get());
        ASSERT_EQ(RoundTo(c.type, x, Rounding::kNearestAway), settle(mpfr_get_d(value.get(), MPFR_RNDN))) << x;
        mpfr_set_d(value.get(), x, MPFR_RNDN);
        mpfr_trunc(value.get(), value.get());
        ASSERT_EQ(RoundTo(c.type, x, Rounding::kTowardZero), settle(mpfr_get_d(value.get(), MPFR_RNDN))) << x;
        ASSERT_EQ(RoundTo(c.type, x, Rounding::kUp), settle(part > 0.0 ? whole + 1 : whole)) << x;
        ASSERT_EQ(RoundTo(c.type, x, Rounding::kDown), settle(whole)) << x;
        ASSERT_FALSE(std::signbit(RoundTo(c.type, -0.25)));
      }
    }
    EXPECT_EQ(RoundTo(c.type, std::nan("")), 0.0);
    EXPECT_EQ(RoundTo(c.type, kInf), c.highest);
    EXPECT_EQ(RoundTo(c.type, -kInf), c.lowest);
  }
}

// A conversion of a double through f32 is rounded twice; ours is not.
TEST(Formats, IsRoundedOnce) {
  const double x = 1.0 + 0x1p-11 + 0x1p-40;  // just above a middle of f16
  EXPECT_EQ(RoundTo(DType::kF16, x), 1.0 + 0x1p-10);
  EXPECT_EQ(RoundTo(DType::kF16, RoundTo(DType::kF32, x)), 1.0) << "the second rounding meets a tie";
}

}  // namespace
}  // namespace assay
