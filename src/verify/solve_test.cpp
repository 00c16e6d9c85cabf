// SPDX-License-Identifier: Apache-2.0
#include "verify/solve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kU = 0x1p-24;
constexpr OutputRule kF32{CompareClass::kSolve, DType::kF32, DType::kF32, false};
constexpr OutputRule kBf16{CompareClass::kSolve, DType::kBf16, DType::kF32, false};

ExpectedElement Left(double residual, double scale, double terms) {
  ExpectedElement expected;
  expected.other = residual;
  expected.scale = scale;
  expected.probability = terms;
  return expected;
}

TEST(JudgeResidual, MeasuresByTheScaleAlone) {
  struct Case {
    const char* name;
    OutputRule rule;
    ExpectedElement expected;
    ElementResult result;
  };
  constexpr auto kRight = ElementResult::kRight;
  constexpr auto kWrong = ElementResult::kWrong;
  const Case cases[] = {
      {"nothing left", kF32, Left(0.0, 1.0, 8), kRight},
      {"just inside 25 roundings", kF32, Left(24.9 * kU, 1.0, 8), kRight},
      {"just outside", kF32, Left(25.1 * kU, 1.0, 8), kWrong},
      {"the same in other units", kF32, Left(24.9e-12 * kU, 1e-12, 8), kRight},
      {"the same in other units, outside", kF32, Left(-25.1e-12 * kU, 1e-12, 8), kWrong},
      {"a longer recurrence may leave more", kF32, Left(25.1 * kU, 1.0, 9), kRight},
      {"roundings of a narrow output", kBf16, Left(25.1 * kU, 1.0, 8), kRight},
      {"an equation of zeros", kF32, Left(0.0, 0.0, 8), kRight},
      {"something left of an equation of zeros", kF32, Left(1e-30, 0.0, 8), kWrong},
      {"no number", kF32, Left(kNaN, 1.0, 8), kWrong},
      {"without end, and its scale too", kF32, Left(INFINITY, INFINITY, 8), kWrong},
      {"no scale", kF32, Left(0.0, kNaN, 8), kWrong},
      {"no residual at all", kF32, ExpectedElement{1.0, 0.0}, kWrong},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(JudgeResidual(c.rule, c.expected).result, c.result);
  }
}

// Slices whose residuals are normal with these sizes, in roundings of scales that spread over 1e8.
PrecisionVerdict ErrorsOf(double candidate, double honest, double one_row = 0) {
  Stream stream(Seed::FromNumber(3));
  std::vector<ResidualTally> slices;
  for (int s = 0; s < 20; ++s) {
    ResidualTally tally(s, 8);
    for (int i = 0; i < 64; ++i) {
      const double scale = std::pow(10.0, 8.0 * stream.Unit());
      double orders[8];
      for (double& order : orders) order = std::abs(honest * kU * stream.Normal());
      const double size = one_row > 0.0 && s == 7 && scale < 10.0 ? one_row : candidate;
      tally.Add(Left(size * kU * scale * stream.Normal(), scale, 64), orders);
    }
    slices.push_back(tally);
  }
  return JudgeBackwardErrors(kF32, slices);
}

TEST(JudgeBackwardErrors, ComparesEachSliceWithHonestOrders) {
  EXPECT_TRUE(ErrorsOf(10, 10).ok);
  EXPECT_TRUE(ErrorsOf(20, 10).ok);
  EXPECT_FALSE(ErrorsOf(100, 10).ok);
  EXPECT_TRUE(ErrorsOf(1, 0.1).ok) << "four roundings are honest whatever the orders do";
  EXPECT_FALSE(ErrorsOf(20, 0.1).ok);
}

TEST(JudgeBackwardErrors, SeesTheSmallestRow) {
  const PrecisionVerdict verdict = ErrorsOf(10, 10, 2000);
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.rule, "componentwise backward error");
  EXPECT_EQ(verdict.slice, 7);
}

TEST(JudgeBackwardErrors, IsSilentWithoutHonestOrders) {
  ResidualTally tally(0, 0);
  tally.Add(Left(1e3 * kU, 1.0, 1000), {});
  EXPECT_TRUE(JudgeBackwardErrors(kF32, std::span(&tally, 1)).ok);
  ResidualTally broken(0, 1);
  const double honest[] = {kU};
  broken.Add(Left(kNaN, 1.0, 8), honest);
  EXPECT_FALSE(JudgeBackwardErrors(kF32, std::span(&broken, 1)).ok);
}

}  // namespace
}  // namespace assay
