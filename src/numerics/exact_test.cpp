// SPDX-License-Identifier: Apache-2.0
// Which outputs are proved exact, and what integers and branches do to a bound.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "numerics/testing/operators.h"

namespace assay {
namespace {

using testing::ReferenceRun;

// y = x . w over one row, in f32 unless said otherwise.
bool DotIsExact(const std::vector<double>& x, const std::vector<double>& w, DType format = DType::kF32) {
  ReferenceRun run;
  run.In("x", DType::kF64, {1, static_cast<int64_t>(x.size())}, x);
  run.In("w", DType::kF64, {1, static_cast<int64_t>(w.size())}, w);
  run.Out("y", DType::kF32, {1});
  testing::AllSlices(run, 1);
  run.query.arithmetic = Arithmetic::kExact;
  run.query.format = format;
  auto result = run.Run(testing::DotReference{}, 1);
  EXPECT_TRUE(result.ok());
  return result.ok() && result.value().outputs[0].exact;
}

TEST(Exact, DotsWhoseMultiplesFit) {
  struct Case {
    const char* name;
    std::vector<double> x, w;
    bool exact;
  };
  const double full = 1.0 + 0x1p-23;
  const Case cases[] = {
      {"small integers", {1, 2, 3}, {4, 5, 6}, true},
      {"2^24 multiples", {0x1p23, 0x1p23}, {1, 1}, true},
      {"one more", {0x1p23, 0x1p23, 1}, {1, 1, 1}, false},
      {"cancelling terms count in full", {0x1p24, -0x1p24, 1}, {1, 1, 1}, false},
      {"a common quantum may be small", {0x1p-30, 3 * 0x1p-30}, {0x1p-20, 5 * 0x1p-20}, true},
      {"one hot, full mantissa", {0, full, 0}, {full, 1, full}, true},
      {"two full mantissas multiplied", {full}, {full}, false},
      {"quanta too far apart", {1, 0x1p-24}, {1, 1}, false},
      {"quanta just near enough", {1, 0x1p-23}, {1, 1}, true},
      {"below the normal range", {0x1p-70}, {0x1p-70}, false},
      {"an input that is no f32", {1.0 + 0x1p-30}, {1}, false},
      {"infinity", {INFINITY}, {1}, false},
      {"nothing but zeros", {0, 0}, {0, 5}, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(DotIsExact(c.x, c.w), c.exact);
  }
  EXPECT_TRUE(DotIsExact({1, 255}, {1, 1}, DType::kBf16));
  EXPECT_FALSE(DotIsExact({2, 255}, {1, 1}, DType::kBf16));
  EXPECT_TRUE(DotIsExact({1, 0x1p-40}, {1, 1}, DType::kF64));
}

struct QuotientReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    a.out("y", r) = Sum(a.row("x", r)) / a.scalar("by");
  }
};

TEST(Exact, QuotientsOnlyByPowersOfTwo) {
  for (const double by : {4.0, 0.5, -8.0, 3.0, 6.0}) {
    SCOPED_TRACE(by);
    ReferenceRun run;
    run.Scalar("by", by);
    run.In("x", DType::kF32, {1, 2}, {12.0, 6.0});
    run.Out("y", DType::kF32, {1});
    testing::AllSlices(run, 1);
    run.query.arithmetic = Arithmetic::kExact;
    const OracleOutput y = run.Run(QuotientReference{}, 1).value().outputs[0];
    EXPECT_EQ(y.value, 18.0 / by);
    EXPECT_EQ(y.exact, by != 3.0 && by != 6.0) << "a compiler may multiply by the reciprocal";
  }
}

struct QuotientByExponentialReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    a.out("y", r) = Sum(a.row("x", r)) / exp(Real(a.scalar("by")));
  }
};

// exp(0) is one in the reference and may be next to one in a kernel.
TEST(Exact, QuotientsOnlyByWhatIsExactItself) {
  ReferenceRun run;
  run.Scalar("by", 0.0);
  run.In("x", DType::kF32, {1, 2}, {12.0, 6.0});
  run.Out("y", DType::kF32, {1});
  testing::AllSlices(run, 1);
  run.query.arithmetic = Arithmetic::kExact;
  const OracleOutput y = run.Run(QuotientByExponentialReference{}, 1).value().outputs[0];
  EXPECT_EQ(y.value, 18.0);
  EXPECT_FALSE(y.exact);
}

struct IntegerSumReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const Real sum = Sum(a.row("x", r));
    a.publish("sum", r, sum);
    a.out("y", r) = sum;
  }
};

// An accumulator of 32 bits; what cancels later has overflowed by then.
TEST(Exact, SumsOfIntegersThatAnAccumulatorHolds) {
  struct Case {
    std::vector<double> x;
    bool exact;
  };
  for (const Case& c : {Case{{0x1p30, 0x1p29}, true}, Case{{0x1p30, 0x1p30}, false}, Case{{0x1p30, -0x1p30}, false}}) {
    SCOPED_TRACE(c.x[1]);
    ReferenceRun run;
    run.In("x", DType::kI32, {1, 2}, c.x);
    run.Out("y", DType::kI32, {1});
    testing::AllSlices(run, 1);
    run.query.arithmetic = Arithmetic::kExact;
    EXPECT_EQ(run.Run(IntegerSumReference{}, 1, 1).value().published[0].exact, c.exact);
  }
}

// Whichever of these numbers comes out is exact; which of them, a rounded number decides.
struct ChoosingReference {
  enum class How { kSelect, kBranch, kMax };
  How how;
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const Real deciding = Dot(a.row("x", r), a.row("w", r));
    if (how == How::kSelect) {
      a.out("y", r) = Select(deciding > Real(1.0), Real(2.0), Real(3.0));
    } else if (how == How::kMax) {
      a.out("y", r) = Max(2, [&](int64_t i) { return i == 0 ? Real(5.0) : deciding; });
    } else if (deciding > Real(1.0)) {
      a.out("y", r) = Real(2.0);
    } else {
      a.out("y", r) = Real(3.0);
    }
  }
};

TEST(Exact, AChoiceByARoundedNumberIsNot) {
  const double full = 1.0 + 0x1p-23;
  for (const auto how :
       {ChoosingReference::How::kSelect, ChoosingReference::How::kBranch, ChoosingReference::How::kMax}) {
    for (const double x : {1.5, full}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(how)) + " at " + std::to_string(x));
      ReferenceRun run;
      run.In("x", DType::kF64, {1, 1}, {x});
      run.In("w", DType::kF64, {1, 1}, {full});
      run.Out("y", DType::kF32, {1});
      testing::AllSlices(run, 1);
      run.query.arithmetic = Arithmetic::kExact;
      const OracleOutput y = run.Run(ChoosingReference{how}, 1).value().outputs[0];
      EXPECT_EQ(y.value, how == ChoosingReference::How::kMax ? 5.0 : 2.0);
      EXPECT_FALSE(y.exact);
    }
    ReferenceRun run;
    run.In("x", DType::kF64, {1, 1}, {1.5});
    run.In("w", DType::kF64, {1, 1}, {1.0});
    run.Out("y", DType::kF32, {1});
    testing::AllSlices(run, 1);
    run.query.arithmetic = Arithmetic::kExact;
    EXPECT_TRUE(run.Run(ChoosingReference{how}, 1).value().outputs[0].exact) << "no rounding, no doubt";
  }
}

// Every honest order gives the same bits wherever exactness was proved.
TEST(Exact, OrdersAgreeWhereItIsProved) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    ReferenceRun run;
    std::vector<double> x, w;
    for (int i = 0; i < 300; ++i) {
      x.push_back(static_cast<double>(random() % 257) - 128.0);
      w.push_back(static_cast<double>(random() % (round < 25 ? 257 : 4097)) - 128.0);
    }
    run.In("x", DType::kF32, {1, 300}, x);
    run.In("w", DType::kF32, {1, 300}, w);
    run.Out("y", DType::kF32, {1});
    testing::AllSlices(run, 1);
    run.query.arithmetic = Arithmetic::kExact;
    const OracleAnswer proved = run.Run(testing::DotReference{}, 1).value();
    EXPECT_EQ(proved.outputs[0].exact, round < 25);
    run.query.arithmetic = Arithmetic::kHonest;
    for (uint32_t order = 0; order < 4 && proved.outputs[0].exact; ++order) {
      run.query.order = static_cast<Order>(order);
      EXPECT_EQ(run.Run(testing::DotReference{}, 1).value().outputs[0].value, proved.outputs[0].value);
    }
  }
}

struct MeanReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    a.out("y", r) = CentredMoments(a.row("x", r)).mean;
  }
};

// However exact the sum of a one-hot row is: a running mean takes steps of its own, but not where all are equal.
TEST(Exact, MeansOnlyOfOneValue) {
  for (const bool one_hot : {true, false}) {
    ReferenceRun run;
    std::vector<double> x(1024, one_hot ? 0.0 : 3.0);
    x[300] = 3.0;
    run.In("x", DType::kF32, {1, 1024}, x);
    run.Out("y", DType::kF32, {1});
    testing::AllSlices(run, 1);
    run.query.arithmetic = Arithmetic::kExact;
    const OracleOutput proved = run.Run(MeanReference{}, 1).value().outputs[0];
    EXPECT_EQ(proved.exact, !one_hot);
    run.query.arithmetic = Arithmetic::kHonest;
    bool all_alike = true;
    for (uint32_t order = 0; order < 4; ++order) {
      run.query.order = static_cast<Order>(order);
      all_alike = all_alike && run.Run(MeanReference{}, 1).value().outputs[0].value == proved.value;
    }
    EXPECT_EQ(all_alike, !one_hot);
  }
}

// The example of the contract page: integers through the accumulator, then a scale.
struct QuantizedGemmReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [m, n] = slice.index<2>();
    const auto w = a.row("w", n);
    Real sum = Dot(a.row("a", m), w) - a.scalar("azero") * Sum(w);
    if (a.has("bias")) sum += a.at("bias", n);
    a.publish("accumulator", m, n, sum);
    a.out("out", m, n) = sum * (a.scalar("ascale") * a.at("wscale", n) / a.scalar("oscale")) + a.scalar("ozero");
  }
};

ReferenceRun QuantizedGemm(double scale) {
  ReferenceRun run;
  run.Scalar("ascale", scale);
  run.Scalar("oscale", 0.5);
  run.IntegerScalar("azero", 3);
  run.IntegerScalar("ozero", -7);
  std::vector<double> a, w;
  for (int i = 0; i < 4096; ++i) {
    a.push_back(i * 37 % 256 - 128);
    w.push_back(i * 101 % 255 - 127);
  }
  run.In("a", DType::kI8, {1, 4096}, a);
  run.In("w", DType::kI8, {1, 4096}, w);
  run.In("wscale", DType::kF32, {1}, {0.25});
  run.In("bias", DType::kI32, {1}, {70000});
  run.Out("out", DType::kI8, {1, 1});
  run.query.slice_rank = 2;
  run.query.slices = {0, 0};
  return run;
}

TEST(Integers, AccumulateWithoutError) {
  for (const bool exact_scale : {true, false}) {
    SCOPED_TRACE(exact_scale);
    ReferenceRun run = QuantizedGemm(exact_scale ? 0x1p-10 : 0.001);
    run.query.arithmetic = Arithmetic::kBounded;
    const OracleAnswer bounded = run.Run(QuantizedGemmReference{}, 1, 1).value();
    EXPECT_EQ(bounded.published[0].bound, 0.0) << "a sum of integers";
    EXPECT_GT(bounded.outputs[0].bound, 0.0);
    EXPECT_LT(bounded.outputs[0].bound, 8.0 * 0x1p-24 * (std::fabs(bounded.outputs[0].value) + 7.0))
        << "roundings of the scale alone";
    run.query.arithmetic = Arithmetic::kExact;
    const OracleAnswer exact = run.Run(QuantizedGemmReference{}, 1, 1).value();
    EXPECT_TRUE(exact.published[0].exact);
    EXPECT_EQ(exact.outputs[0].exact, exact_scale);
    run.query.arithmetic = Arithmetic::kHonest;
    const OracleAnswer honest = run.Run(QuantizedGemmReference{}, 1, 1).value();
    EXPECT_EQ(honest.published[0].value, bounded.published[0].value);
    EXPECT_LE(std::fabs(honest.outputs[0].value - bounded.outputs[0].value), bounded.outputs[0].bound);
    run.query.arithmetic = Arithmetic::kTaped;
    const OracleAnswer taped = run.Run(QuantizedGemmReference{}, 1, 1).value();
    EXPECT_LE(taped.outputs[0].bound, bounded.outputs[0].bound * (1.0 + 1e-9));
  }
}

// Softmax over experts: the largest, and the weight of what the candidate chose.
struct RouterReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [t] = slice.index<1>();
    const auto logits = a.row("logits", t);
    std::vector<Real> scores;
    for (int64_t e = 0; e < logits.size(); ++e) scores.push_back(logits[e] * a.scalar("scale"));
    a.out("index", t, 0) = ArgMax(scores);
    const int64_t given = a.given("index", t, 0);
    a.out("weight", t, 0) = exp(Real(Lookup(scores, given) - LogSumExp(scores)));
  }
};

TEST(Ambiguous, ChoicesWithinTheErrorOfBothSides) {
  struct Case {
    const char* name;
    double first, second, scale;
    double index;
    bool ambiguous;
  };
  const Case cases[] = {
      {"clear", 1.0, 2.0, 1.0 / 3.0, 1, false},
      {"apart by one rounding", 1.0, 1.0 + 0x1p-23, 1.0 / 3.0, 1, true},
      {"equal, with rounding", 1.0, 1.0, 1.0 / 3.0, 0, true},
      {"apart by ten", 1.0, 1.0 + 10 * 0x1p-23, 1.0 / 3.0, 1, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ReferenceRun run;
    run.Scalar("scale", static_cast<double>(static_cast<float>(c.scale)));
    run.In("logits", DType::kF32, {1, 3}, {c.first, c.second, -5.0});
    run.In("index", DType::kI32, {1, 1}, {2}, OracleRole::kGiven);
    run.Out("weight", DType::kF32, {1, 1});
    testing::AllSlices(run, 1);
    run.query.arithmetic = Arithmetic::kBounded;
    const OracleAnswer answer = run.Run(RouterReference{}, 2).value();
    EXPECT_EQ(answer.outputs[0].value, c.index);
    EXPECT_EQ(answer.outputs[0].ambiguous, c.ambiguous);
    EXPECT_FALSE(answer.outputs[1].ambiguous) << "the weight follows the candidate's index";
    EXPECT_LT(answer.outputs[1].value, 0.12);
  }
}

struct KinkReference {
  bool branch;
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const Real x = Dot(a.row("x", r), a.row("w", r));
    if (branch) {
      if (x > Real(1.0)) {
        a.out("y", r) = x * 100.0;
      } else {
        a.out("y", r) = x;
      }
    } else {
      a.out("y", r) = Select(x > Real(1.0), x * 2.0 - 1.0, x);
    }
  }
};

TEST(Ambiguous, BranchesTaintAndSelectionsWiden) {
  for (const double near : {0.9, 1.0 + 0x1p-23, 1.0}) {
    for (const bool branch : {true, false}) {
      SCOPED_TRACE(std::to_string(near) + (branch ? " branch" : " select"));
      ReferenceRun run;
      run.In("x", DType::kF32, {1, 2}, {near, 0.0});
      run.In("w", DType::kF32, {1, 2}, {1.0, 1.0});
      run.Out("y", DType::kF32, {1});
      testing::AllSlices(run, 1);
      run.query.arithmetic = Arithmetic::kBounded;
      const OracleAnswer answer = run.Run(KinkReference{branch}, 1).value();
      const bool close = near != 0.9;
      EXPECT_EQ(answer.outputs[0].ambiguous, branch && close);
      EXPECT_EQ(answer.ambiguous_comparisons, branch && close ? 1U : 0U);
      EXPECT_LT(answer.outputs[0].bound, 1e-4) << "a continuous kink widens the bound by little";
    }
  }
}

struct CastReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    a.out("y", r) = Cast<DType::kI8>(Dot(a.row("x", r), a.row("w", r)));
  }
};

TEST(Cast, CountsTheStepsWithinReach) {
  struct Case {
    const char* name;
    double x;
    double value, bound;
  };
  const Case cases[] = {
      {"far from a boundary", 2.3, 2.0, 0.0},
      {"on the boundary", 2.5, 2.0, 1.0},
      {"just within reach", 2.5 + 0x1p-22, 3.0, 1.0},
      {"just out of reach", 2.5001, 3.0, 0.0},
      {"saturated", 500.0, 127.0, 0.0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ReferenceRun run;
    run.In("x", DType::kF32, {1, 2}, {c.x, 0.0});
    run.In("w", DType::kF32, {1, 2}, {1.0, 1.0});
    run.Out("y", DType::kI8, {1});
    testing::AllSlices(run, 1);
    run.query.arithmetic = Arithmetic::kBounded;
    const OracleAnswer answer = run.Run(CastReference{}, 1).value();
    EXPECT_EQ(answer.outputs[0].value, c.value);
    EXPECT_EQ(answer.outputs[0].bound, c.bound);
  }
}

struct OverflowReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    a.out("y", r) = sqrt(Real(Dot(a.row("x", r), a.row("x", r))));
  }
};

TEST(Overflow, WithinReachExcludes) {
  for (const double x : {1e18, 1e19, 1e20}) {
    SCOPED_TRACE(x);
    ReferenceRun run;
    run.In("x", DType::kF32, {1, 2}, {x, x});
    run.Out("y", DType::kF32, {1});
    testing::AllSlices(run, 1);
    run.query.arithmetic = Arithmetic::kBounded;
    EXPECT_EQ(run.Run(OverflowReference{}, 1).value().outputs[0].excluded, x > 1e18);
  }
}

struct MaskedReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const auto x = a.row("x", r);
    a.out("y", r) = LogSumExp(x.size(), [&](int64_t i) { return i == 1 ? Real(-INFINITY) : Real(x[i] * 0.3); });
  }
};

TEST(Infinity, AmongTheInputsIsNoOverflow) {
  ReferenceRun run;
  run.In("x", DType::kF32, {1, 3}, {1.0, 2.0, 3.0});
  run.Out("y", DType::kF32, {1});
  testing::AllSlices(run, 1);
  run.query.arithmetic = Arithmetic::kBounded;
  const OracleOutput masked = run.Run(MaskedReference{}, 1).value().outputs[0];
  EXPECT_FALSE(masked.excluded);
  EXPECT_NEAR(masked.value, std::log(std::exp(0.3) + std::exp(0.9)), 1e-7);
  EXPECT_LT(masked.bound, 1e-5);
}

struct AllMaskedReference {
  template <class Real>
  void Run(const Args<Real>& a, const Slice& slice) const {
    const auto [r] = slice.index<1>();
    const auto x = a.row("x", r);
    a.out("y", r) = LogSumExp(x.size(), [&](int64_t i) { return Real(x[i] * 0.0 - INFINITY); });
  }
};

// A row without any key left is zero over zero in every order; what a kernel writes there is a matter of
// definition, and a reference that wants a number says so with Select.
TEST(Infinity, ARowThatIsMaskedWholeHasNoAnswer) {
  ReferenceRun run;
  run.In("x", DType::kF32, {1, 3}, {1.0, 2.0, 3.0});
  run.Out("y", DType::kF32, {1});
  testing::AllSlices(run, 1);
  run.query.arithmetic = Arithmetic::kBounded;
  const OracleOutput masked = run.Run(AllMaskedReference{}, 1).value().outputs[0];
  EXPECT_TRUE(masked.excluded) << masked.value << " " << masked.bound;
}

// Wider values where double itself is the format under test.
TEST(Wide, IsSharperThanTheBoundOfDouble) {
  ReferenceRun run = testing::Rows(testing::Data::kNormal, 8, 512, false, 3);
  run.query.format = DType::kF64;
  run.query.arithmetic = Arithmetic::kBounded;
  const OracleAnswer bounded = run.Run(testing::DotReference{}, 1).value();
  run.query.arithmetic = Arithmetic::kWide;
  const OracleAnswer wide = run.Run(testing::DotReference{}, 1).value();
  run.query.arithmetic = Arithmetic::kHonest;
  const OracleAnswer honest = run.Run(testing::DotReference{}, 1).value();
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_LE(std::fabs(honest.outputs[i].value - wide.outputs[i].value), bounded.outputs[i].bound);
    EXPECT_LE(std::fabs(bounded.outputs[i].value - wide.outputs[i].value), 0.01 * bounded.outputs[i].bound);
  }
}

}  // namespace
}  // namespace assay
