// SPDX-License-Identifier: Apache-2.0
// The error bound against what it is about: honest evaluations stay inside in every regime and order,
// wrong ones do not stay unseen, a legal perturbation at every operation passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "numerics/testing/operators.h"

namespace assay {
namespace {

using testing::AttentionReference;
using testing::Data;
using testing::ReferenceRun;

struct Comparison {
  double worst = 0.0;  // largest error in units of its limit
  double rms = 0.0;    // of the errors of the first output
  size_t excluded = 0;
  size_t compared = 0;
};

// The limit of the class accumulate: bound, half a step of the output, half its smallest step.
double LimitOf(const OracleOutput& output) {
  return output.bound + 0.5 * StepAt(DType::kF32, output.value) + 0.5 * SmallestSubnormal(DType::kF32);
}

Comparison Compare(const OracleAnswer& bounded, const OracleAnswer& other) {
  Comparison result;
  double squares = 0.0;
  for (size_t i = 0; i < bounded.outputs.size(); ++i) {
    const OracleOutput& expected = bounded.outputs[i];
    if (expected.excluded || expected.ambiguous) {
      ++result.excluded;
      continue;
    }
    ++result.compared;
    const double error = std::fabs(other.outputs[i].value - expected.value);
    // Positively stated, so that a NaN counts as infinitely wrong.
    const double share = error <= std::numeric_limits<double>::max() ? error / LimitOf(expected) : 1e300;
    result.worst = std::max(result.worst, share);
    if (expected.tensor == bounded.outputs[0].tensor) squares += error * error;
  }
  result.rms = result.compared > 0 ? std::sqrt(squares / static_cast<double>(result.compared)) : 0.0;
  return result;
}

template <class Body>
OracleAnswer MustRun(ReferenceRun& run, const Body& body, Arithmetic arithmetic, uint64_t outputs) {
  run.query.arithmetic = arithmetic;
  auto result = run.Run(body, outputs);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(result).value() : OracleAnswer{};
}

struct HonestForm {
  const char* name;
  Order order;
  bool fma;
  Elementary elementary;
};
constexpr HonestForm kForms[] = {
    {"in order", Order::kInOrder, false, Elementary::kCorrect},
    {"in order, fma", Order::kInOrder, true, Elementary::kLoose},
    {"pairwise", Order::kPairwise, false, Elementary::kLoose},
    {"lanes", Order::kLanes16, true, Elementary::kCorrect},
    {"lanes, exp2", Order::kLanes16, false, Elementary::kExp2},
    {"blocks", Order::kBlocks64, true, Elementary::kExp2},
    {"blocks, loose", Order::kBlocks64, false, Elementary::kLoose},
};

// Every honest form of the operator on this data, in units of the limit.
template <class Body>
void ExpectHonestInside(ReferenceRun& run, const Body& body, uint64_t outputs, double most_excluded) {
  const OracleAnswer bounded = MustRun(run, body, Arithmetic::kBounded, outputs);
  for (const HonestForm& form : kForms) {
    SCOPED_TRACE(form.name);
    run.query.order = form.order;
    run.query.fma = form.fma;
    run.query.elementary = form.elementary;
    const Comparison c = Compare(bounded, MustRun(run, body, Arithmetic::kHonest, outputs));
    EXPECT_LE(c.worst, 1.0);
    EXPECT_LE(static_cast<double>(c.excluded), most_excluded * static_cast<double>(c.excluded + c.compared));
  }
}

template <class Body>
void ExpectHonestInsideInAllRegimes(const Body& body, bool per_element) {
  for (const auto& [data, name] : testing::kAllData) {
    SCOPED_TRACE(name);
    ReferenceRun run = testing::Rows(data, 16, 1024, per_element, 11);
    run.query.outputs = per_element ? 16 * 1024 : 16;
    ExpectHonestInside(run, body, per_element ? 1024 : 1, 0.0);
    if (data != Data::kNormal && data != Data::kOutliers && data != Data::kLadder) continue;
    run.query.regime = Regime::kRandom;
    ExpectHonestInside(run, body, per_element ? 1024 : 1, 0.0);
  }
}

TEST(Bounded, HonestDotsAreInside) { ExpectHonestInsideInAllRegimes(testing::DotReference{}, false); }
// A loop of `+=` has one order; the kernels that it judges have every other.
TEST(Bounded, ALoopOfAdditionsCoversEveryOrder) {
  for (const int64_t columns : {3, 8, 50, 1000}) {
    for (const auto& [data, name] : testing::kAllData) {
      SCOPED_TRACE(name);
      ReferenceRun run = testing::Rows(data, 64, columns, false, 12);
      run.query.outputs = 64;
      for (const Regime regime : {Regime::kStructured, Regime::kRandom}) {
        if (regime == Regime::kRandom && data != Data::kNormal && data != Data::kOutliers && data != Data::kLadder)
          continue;
        run.query.regime = regime;
        const OracleAnswer bounded = MustRun(run, testing::LoopDotReference{}, Arithmetic::kBounded, 1);
        const OracleAnswer dot = MustRun(run, testing::DotReference{}, Arithmetic::kBounded, 1);
        for (size_t i = 0; i < bounded.outputs.size(); ++i)
          EXPECT_LE(bounded.outputs[i].bound, 2.0 * dot.outputs[i].bound + 1e-30) << "as sharp as the primitive";
        for (const HonestForm& form : kForms) {
          SCOPED_TRACE(form.name);
          run.query.order = form.order;
          run.query.fma = form.fma;
          EXPECT_LE(Compare(bounded, MustRun(run, testing::DotReference{}, Arithmetic::kHonest, 1)).worst, 1.0);
        }
      }
    }
  }
}
TEST(Bounded, HonestRmsNormsAreInside) { ExpectHonestInsideInAllRegimes(testing::RmsNormReference{}, true); }
TEST(Bounded, HonestLayerNormsAreInside) { ExpectHonestInsideInAllRegimes(testing::LayerNormReference{}, true); }
TEST(Bounded, HonestLogSumExpsAreInside) { ExpectHonestInsideInAllRegimes(testing::LogSumExpReference{}, false); }
// A kernel of one pass scales its sum at every key of a sorted row, at hardly any of a shuffled one: half of a
// thousand rises behind a key on average, five roundings each, against some hundreds for the sum itself.
TEST(Bounded, SumExpCountsTheRisesOfTheMaximum) {
  double bounds[2] = {};
  for (const bool sorted : {true, false}) {
    ReferenceRun run;
    std::vector<double> x;
    for (int i = 0; i < 1000; ++i) x.push_back((sorted ? i : i * 387 % 1000) / 1024.0);
    run.In("x", DType::kF32, {1, 1000}, x);
    run.Out("y", DType::kF32, {1});
    testing::AllSlices(run, 1);
    run.query.outputs = 1;
    run.query.regime = Regime::kRandom;
    const OracleOutput y = MustRun(run, testing::SumExpReference{}, Arithmetic::kBounded, 1).outputs[0];
    bounds[sorted ? 1 : 0] = y.bound / y.value / std::ldexp(1.0, -24);
  }
  EXPECT_GT(bounds[1], bounds[0] + 1500);
  EXPECT_LT(bounds[1], bounds[0] + 6000);
}
TEST(Bounded, HonestSumExpsAreInside) { ExpectHonestInsideInAllRegimes(testing::SumExpReference{}, false); }

TEST(Bounded, HonestAttentionIsInside) {
  for (const auto& [data, name] : testing::kAllData) {
    if (data == Data::kOffset1e4) continue;  // logits of 1e8: no digit of them is left in f32
    SCOPED_TRACE(name);
    ReferenceRun run =
        testing::Attention(data, data == Data::kOffset100 ? Data::kOffset100 : Data::kNormal, 4, 192, 64, 5);
    run.query.outputs = 4 * 65;
    ExpectHonestInside(run, AttentionReference{}, 65, 0.0);
    if (data != Data::kNormal && data != Data::kOutliers) continue;
    run.query.regime = Regime::kRandom;
    ExpectHonestInside(run, AttentionReference{}, 65, 0.0);
  }
}

// One key outweighs a thousand others whose weights are alike and lie near the last place of the sum:
// added one after the other each is lost or becomes a whole unit in the last place.  The inputs'
// mantissas are random, and the errors conspire all the same.
TEST(Bounded, WeightsBelowTheLastPlaceOfTheirSumConspire) {
  constexpr int64_t kKeys = 1024, kWidth = 64;
  double worst = 0.0;
  for (const double logit : {15.6, 16.2, 16.5, 16.7, 17.0, 18.0}) {
    SCOPED_TRACE(logit);
    ReferenceRun run;
    run.Axis("T", kKeys);
    run.Axis("D", kWidth);
    run.Scalar("scale", 1.0);
    run.In("q", DType::kF32, {1, kWidth}, std::vector<double>(kWidth, 1.0));
    std::vector<double> keys = testing::Draw(Data::kNormal, kKeys * kWidth, kWidth, 7);
    for (double& key : keys) key *= 1e-4;
    for (size_t d = 0; d < kWidth; ++d) keys[d] = logit / kWidth;
    run.In("k", DType::kF32, {1, kKeys, kWidth}, keys);
    run.In("v", DType::kF32, {1, kKeys, kWidth}, testing::Draw(Data::kOffset100, kKeys * kWidth, kWidth, 8));
    run.Out("o", DType::kF32, {1, kWidth});
    run.Out("lse", DType::kF32, {1});
    testing::AllSlices(run, 1);
    run.query.regime = Regime::kRandom;
    run.query.outputs = 65;
    ExpectHonestInside(run, AttentionReference{}, 65, 0.0);
    const OracleAnswer bounded = MustRun(run, AttentionReference{}, Arithmetic::kBounded, 65);
    run.query.order = Order::kInOrder;
    worst = std::max(worst, Compare(bounded, MustRun(run, AttentionReference{}, Arithmetic::kHonest, 65)).worst);
  }
  EXPECT_GT(worst, 0.3);  // of a bound that has room for it, and not for much more
}

// A long sum of equal numbers is what the probabilistic growth must not be used for.
TEST(Bounded, OnlyTheStructuredBoundHoldsForConstantRows) {
  ReferenceRun run = testing::Rows(Data::kConstant, 1, 65536, false, 1);
  const OracleAnswer structured = MustRun(run, testing::DotReference{}, Arithmetic::kBounded, 1);
  run.query.regime = Regime::kRandom;
  const OracleAnswer random = MustRun(run, testing::DotReference{}, Arithmetic::kBounded, 1);
  const OracleAnswer honest = MustRun(run, testing::DotReference{}, Arithmetic::kHonest, 1);
  EXPECT_LE(Compare(structured, honest).worst, 1.0);
  EXPECT_LT(random.outputs[0].bound, 0.1 * structured.outputs[0].bound);
}

struct WrongForm {
  const char* name;
  Mutant mutant;
  bool seen_by_bound;  // else by the RMS rule
};

// At K = 192 a wrong kernel exceeds the bound, or scatters more than twice the worst honest order.
TEST(Bounded, WrongAttentionIsSeen) {
  const WrongForm forms[] = {
      {"q and k in bf16", {MutantKind::kNarrowOperand, Primitive::kAny, DType::kBf16, -1, 0}, true},
      {"v in bf16", {MutantKind::kNarrowOperand, Primitive::kAny, DType::kBf16, 2, 0}, true},
      {"q in tf32", {MutantKind::kNarrowOperand, Primitive::kAny, DType::kTf32, 0, 0}, true},
      {"bf16 twice", {MutantKind::kNarrowOperandPair, Primitive::kAny, DType::kBf16, -1, 0}, false},
      {"weights in bf16", {MutantKind::kNarrowElementary, Primitive::kAny, DType::kBf16, -1, 0}, true},
      {"sums in bf16", {MutantKind::kNarrowAccumulator, Primitive::kSoftmax, DType::kBf16, -1, 0}, true},
      {"dot in f16", {MutantKind::kNarrowAccumulator, Primitive::kDot, DType::kF16, -1, 0}, true},
      {"exp of 2^-9", {MutantKind::kRoughElementary, Primitive::kAny, DType::kF32, -1, 0x1p-9}, true},
      {"exp of 2^-17", {MutantKind::kRoughElementary, Primitive::kAny, DType::kF32, -1, 0x1p-17}, false},
      {"last key", {MutantKind::kDropLast, Primitive::kSoftmax, DType::kF32, -1, 0}, true},
      {"first key", {MutantKind::kDropHead, Primitive::kSoftmax, DType::kF32, -1, 0}, true},
      {"block of keys", {MutantKind::kDropBlock, Primitive::kSoftmax, DType::kF32, -1, 0}, true},
      {"tail of the head", {MutantKind::kDropTail, Primitive::kDot, DType::kF32, -1, 0}, true},
      {"v shifted", {MutantKind::kShift, Primitive::kAny, DType::kF32, 2, 0}, true},
      {"output in bf16", {MutantKind::kNarrowOutput, Primitive::kAny, DType::kBf16, -1, 0}, true},
      {"output off by 2^-14", {MutantKind::kBiasOutput, Primitive::kAny, DType::kF32, -1, 0x1p-14}, true},
  };
  ReferenceRun run = testing::Attention(Data::kNormal, Data::kNormal, 16, 192, 64, 3);
  run.query.regime = Regime::kRandom;
  run.query.outputs = 16 * 65;
  const OracleAnswer bounded = MustRun(run, AttentionReference{}, Arithmetic::kBounded, 65);
  double honest = 0.0;
  for (const HonestForm& form : kForms) {
    run.query.order = form.order;
    run.query.fma = form.fma;
    run.query.elementary = form.elementary;
    honest = std::max(honest, Compare(bounded, MustRun(run, AttentionReference{}, Arithmetic::kHonest, 65)).rms);
  }
  run.query.order = Order::kPairwise;
  run.query.elementary = Elementary::kCorrect;
  for (const WrongForm& form : forms) {
    SCOPED_TRACE(form.name);
    run.query.mutant = form.mutant;
    const Comparison c = Compare(bounded, MustRun(run, AttentionReference{}, Arithmetic::kHonest, 65));
    EXPECT_EQ(c.worst > 1.0, form.seen_by_bound) << c.worst;
    EXPECT_GT(c.rms, 2.0 * honest) << c.rms / honest;
  }
}

// The one-pass variance is honest on centred data and refused from an offset of 100 on.
TEST(Bounded, OnePassVarianceIsSeenAtAnOffset) {
  struct Case {
    Data data;
    bool refused;
  };
  for (const Case& c : {Case{Data::kNormal, false}, Case{Data::kOffset100, true}, Case{Data::kOffset1e4, true}}) {
    SCOPED_TRACE(static_cast<int>(c.data));
    ReferenceRun run = testing::Rows(c.data, 16, 1024, true, 2);
    run.query.regime = Regime::kRandom;
    run.query.outputs = 16 * 1024;
    const OracleAnswer bounded = MustRun(run, testing::LayerNormReference{}, Arithmetic::kBounded, 1024);
    run.query.mutant.kind = MutantKind::kOnePassMoments;
    const Comparison wrong = Compare(bounded, MustRun(run, testing::LayerNormReference{}, Arithmetic::kHonest, 1024));
    EXPECT_EQ(wrong.worst > 1.0, c.refused) << wrong.worst;
  }
}

// Deviations from running means do not sum to nothing, which shows most where there are few of them.
TEST(Bounded, VarianceInOnePassIsHonestWhereTheMeanIsLarge) {
  for (const int64_t columns : {2, 4, 7, 16, 63, 256}) {
    for (const Data data : {Data::kOffset100, Data::kOffset1e4, Data::kAscending}) {
      SCOPED_TRACE(columns);
      ReferenceRun run = testing::Rows(data, 64, columns, true, 5);
      run.query.regime = data == Data::kAscending ? Regime::kStructured : Regime::kRandom;
      run.query.outputs = 64.0 * static_cast<double>(columns);
      const OracleAnswer bounded = MustRun(run, testing::LayerNormReference{}, Arithmetic::kBounded, columns);
      run.query.order = Order::kBlocks64;  // Welford's
      const Comparison welford =
          Compare(bounded, MustRun(run, testing::LayerNormReference{}, Arithmetic::kHonest, columns));
      EXPECT_LE(welford.worst, 1.0);
    }
  }
}

// Every operation perturbed at random by what is legal passes; the bound is no guess.
TEST(Bounded, LegalPerturbationsPass) {
  for (const auto& [data, name] : testing::kAllData) {
    SCOPED_TRACE(name);
    ReferenceRun rows = testing::Rows(data, 8, 512, true, 21);
    const OracleAnswer norm = MustRun(rows, testing::LayerNormReference{}, Arithmetic::kBounded, 512);
    ReferenceRun attention =
        testing::Attention(data == Data::kOffset1e4 ? Data::kNormal : data, Data::kNormal, 2, 96, 32, 9);
    const OracleAnswer mean = MustRun(attention, AttentionReference{}, Arithmetic::kBounded, 33);
    for (uint64_t noise = 1; noise <= 3; ++noise) {
      for (ReferenceRun* run : {&rows, &attention}) {
        run->query.perturb = 1.0;
        run->query.noise = noise * 7919;
      }
      EXPECT_LE(Compare(norm, MustRun(rows, testing::LayerNormReference{}, Arithmetic::kHonest, 512)).worst, 1.0);
      EXPECT_LE(Compare(mean, MustRun(attention, AttentionReference{}, Arithmetic::kHonest, 33)).worst, 1.0);
    }
  }
}

// An error of twice the bound is refused wherever it stands.
TEST(Bounded, TwiceTheLimitFails) {
  ReferenceRun run = testing::Rows(Data::kNormal, 4, 64, true, 4);
  const OracleAnswer bounded = MustRun(run, testing::RmsNormReference{}, Arithmetic::kBounded, 64);
  for (size_t i = 0; i < bounded.outputs.size(); ++i) {
    OracleAnswer wrong = bounded;
    wrong.outputs[i].value += 2.0 * LimitOf(bounded.outputs[i]);
    EXPECT_GT(Compare(bounded, wrong).worst, 1.0);
  }
}

// Without the primitive the shift by the maximum is counted twice; the tape sees through it.
TEST(Taped, CancelsWhatTheForwardBoundCannot) {
  struct Case {
    Data data;
    double forward_over_taped;  // at least, without the primitive
  };
  for (const Case& c : {Case{Data::kNormal, 1.5}, Case{Data::kLarge, 20.0}, Case{Data::kOutliers, 20.0}}) {
    SCOPED_TRACE(static_cast<int>(c.data));
    ReferenceRun run = testing::Attention(c.data, Data::kNormal, 4, 96, 64, 6);
    const OracleAnswer forward = MustRun(run, AttentionReference{}, Arithmetic::kBounded, 65);
    const OracleAnswer plain = MustRun(run, testing::PlainAttentionReference{}, Arithmetic::kBounded, 65);
    const OracleAnswer taped = MustRun(run, AttentionReference{}, Arithmetic::kTaped, 65);
    const OracleAnswer plain_taped = MustRun(run, testing::PlainAttentionReference{}, Arithmetic::kTaped, 65);
    std::vector<double> with, without, both;
    for (size_t i = 0; i < forward.outputs.size(); ++i) {
      if (forward.outputs[i].tensor != 3) continue;
      EXPECT_NEAR(taped.outputs[i].value, forward.outputs[i].value, 1e-12 + 1e-9 * std::fabs(forward.outputs[i].value));
      with.push_back(forward.outputs[i].bound / taped.outputs[i].bound);
      without.push_back(plain.outputs[i].bound / plain_taped.outputs[i].bound);
      both.push_back(plain_taped.outputs[i].bound / taped.outputs[i].bound);
    }
    const auto median = [](std::vector<double>& v) {
      std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
      return v[v.size() / 2];
    };
    EXPECT_NEAR(median(with), 1.0, 0.1);
    EXPECT_GE(median(without), c.forward_over_taped);
    // The hand-made primitive and the general analysis agree on what an honest kernel may do.
    EXPECT_GT(median(both), 0.2);
    EXPECT_LT(median(both), 5.0);
  }
}

TEST(Taped, HonestRunsAreInside) {
  ReferenceRun run = testing::Rows(Data::kOffset1e4, 8, 512, true, 8);
  const OracleAnswer taped = MustRun(run, testing::LayerNormReference{}, Arithmetic::kTaped, 512);
  for (const HonestForm& form : kForms) {
    SCOPED_TRACE(form.name);
    run.query.order = form.order;
    run.query.fma = form.fma;
    run.query.elementary = form.elementary;
    EXPECT_LE(Compare(taped, MustRun(run, testing::LayerNormReference{}, Arithmetic::kHonest, 512)).worst, 1.0);
  }
}

TEST(Taped, SamplesOutputs) {
  ReferenceRun run = testing::Rows(Data::kNormal, 2, 64, true, 8);
  run.query.sample_stride = 16;
  run.query.sample_phase = 3;
  const OracleAnswer taped = MustRun(run, testing::LayerNormReference{}, Arithmetic::kTaped, 64);
  ASSERT_EQ(taped.outputs.size(), 8U);
  EXPECT_EQ(taped.outputs[1].element, 19);
}

}  // namespace
}  // namespace assay
