// SPDX-License-Identifier: Apache-2.0
#include "verify/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "contract/load.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"

namespace assay {
namespace {

using testing::HasSubstr;

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;
const std::filesystem::path kCache = std::filesystem::path(ASSAY_BUILD_DIR) / "test-cache";

// Every element of y written, whatever it means: a probe asks where, not what.
std::string Filling(const std::string& at_the_end) {
  return "#include <math.h>\n#include <stdint.h>\n"
         "extern \"C\" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {\n"
         "  for (int64_t e = 0; e < R * C; ++e) y[e] = 0.5F * x[e];\n" +
         at_the_end + "}\n";
}

class Probing : public testing::Test {
 protected:
  static constexpr int64_t kRows = 8, kColumns = 37;

  void SetUp() override { Use("contracts/softmax_rows", {{"R", kRows}, {"C", kColumns}}); }

  void Use(const char* folder, const std::map<std::string, int64_t>& axes) {
    auto loaded = LoadContract(kSource / folder);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    contract_ = std::move(loaded).value();
    auto shape = DenseShape(contract_, axes);
    ASSERT_TRUE(shape.ok()) << shape.error().message;
    shape_ = shape.value();
  }

  void Build(const Result<Template>& family) {
    ASSERT_TRUE(family.ok()) << family.error().message;
    CppBuilder builder(kCache);
    auto built = builder.Build(contract_, MakeCandidate(family.value(), {}, {}).value(), BuildVariant::kPrimary);
    ASSERT_TRUE(built.ok()) << built.error().message;
    ASSERT_TRUE(std::holds_alternative<Artifact>(built.value())) << std::get<Rejected>(built.value()).evidence;
    artifact_ = std::get<Artifact>(std::move(built).value());
  }

  Probe Start(uint64_t placement = 0, int threads = 1) {
    ProbeSpec spec;
    spec.contract = &contract_;
    spec.artifact = &artifact_;
    spec.shape = shape_;
    spec.threads = threads;
    spec.calls = 2;
    spec.placement = placement;
    auto started = Probe::Start(spec, Stream(Seed::FromNumber(3)));
    EXPECT_TRUE(started.ok()) << started.error().message;
    return std::get<Probe>(std::move(started).value());
  }

  Probe StartOf(const std::string& source, uint64_t placement = 0) {
    Build(ParseTemplate(source, "probed.cpp", contract_));
    return Start(placement);
  }

  static std::optional<Rejected> RunOne(Probe& probe, size_t slot = 0) {
    EXPECT_TRUE(probe.Load(slot, Values::kFirst, Seed::FromNumber(slot)).ok());
    auto refused = probe.Run(slot);
    EXPECT_TRUE(refused.ok()) << refused.error().message;
    return refused.ok() ? refused.value() : std::nullopt;
  }

  Contract contract_;
  Shape shape_;
  Artifact artifact_;
};

TEST_F(Probing, FindsTheElementThatNobodyWrote) {
  Probe whole = StartOf(Filling(""));
  EXPECT_FALSE(RunOne(whole).has_value());
  EXPECT_FALSE(whole.FindUnwritten(0).has_value());
  // The first, one in the middle, the last: all but that are written.
  for (const int64_t left_out : {int64_t{0}, 5 * kColumns + 2, kRows * kColumns - 1}) {
    SCOPED_TRACE(left_out);
    Probe probe = StartOf(
        "#include <stdint.h>\n"
        "extern \"C\" void softmax_rows(const float* x, float* y, int64_t R, int64_t C) {\n"
        "  for (int64_t e = 0; e < R * C; ++e)\n    if (e != " +
        std::to_string(left_out) + ") y[e] = x[e];\n}\n");
    EXPECT_FALSE(RunOne(probe).has_value());
    const auto unwritten = probe.FindUnwritten(0);
    ASSERT_TRUE(unwritten.has_value());
    EXPECT_EQ(unwritten->tensor, 1U);
    EXPECT_EQ(unwritten->offset, left_out);
  }
}

TEST_F(Probing, TakesANanThatWasWrittenForAnAnswer) {
  Probe probe = StartOf(Filling("  for (int64_t e = 0; e < R * C; ++e) y[e] = NAN;\n"));
  EXPECT_FALSE(RunOne(probe).has_value());
  EXPECT_FALSE(probe.FindUnwritten(0).has_value());
}

TEST_F(Probing, RefusesAStoreOnEitherSideOfTheOutput) {
  // Placements differ in the end that touches a guard page.
  for (const char* place : {"R * C", "-1"}) {
    for (uint64_t placement = 0; placement < 4; ++placement) {
      SCOPED_TRACE(std::string(place) + " at placement " + std::to_string(placement));
      Probe probe = StartOf(Filling("  y[" + std::string(place) + "] = 1.0F;\n"), placement);
      const auto refused = RunOne(probe);
      ASSERT_TRUE(refused.has_value());
      EXPECT_EQ(refused->reason, Reason::kWroteOutside) << refused->evidence;
    }
  }
}

TEST_F(Probing, RefusesAStoreBehindASmallerCall) {
  Shape smaller = DenseShape(contract_, {{"R", kRows / 2}, {"C", kColumns}}).value();
  const auto run = [&](const std::string& at_the_end) {
    Probe probe = StartOf(Filling(at_the_end));
    EXPECT_TRUE(probe.LoadSmaller(0, smaller, Values::kFirst, Seed::FromNumber(1)).ok());
    auto refused = probe.Run(0);
    EXPECT_TRUE(refused.ok()) << refused.error().message;
    return refused.value();
  };
  EXPECT_FALSE(run("").has_value());
  const auto refused = run("  if (R == " + std::to_string(kRows / 2) + ") y[R * C] = 1.0F;\n");
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->reason, Reason::kWroteOutside);
  EXPECT_THAT(refused->evidence, HasSubstr("written behind its"));
}

// Whoever finds its old answers again may copy them.
TEST_F(Probing, PoisonsAnswersThatServeAsDecoys) {
  Probe probe = StartOf(Filling(""));
  EXPECT_FALSE(RunOne(probe, 0).has_value());
  EXPECT_FALSE(probe.FindUnwritten(0).has_value());
  EXPECT_FALSE(RunOne(probe, 1).has_value());
  EXPECT_FALSE(probe.FindUnwritten(1).has_value());
  const auto unwritten = probe.FindUnwritten(0);
  ASSERT_TRUE(unwritten.has_value()) << "the first call's answer still stands there";
  EXPECT_EQ(unwritten->offset, 0);
}

TEST_F(Probing, SeesWhatIsWrittenAfterTheUnitHasEnded) {
  Build(ReadTemplate(kSource / "tests/hostile/honest_lanes.cpp", contract_));
  Probe honest = Start(0, 2);
  EXPECT_FALSE(RunOne(honest).has_value());
  auto late = honest.ChangesLater(0, 3);
  ASSERT_TRUE(late.ok()) << late.error().message;
  EXPECT_FALSE(late.value());
  Build(ReadTemplate(kSource / "tests/hostile/returns_early.cpp", contract_));
  Probe early = Start(0, 2);
  // Its other thread is late by a tenth of a millisecond; on a busy machine the stop may take longer, so not every
  // unit catches it at work.
  bool seen = false;
  for (int attempt = 0; attempt < 200 && !seen; ++attempt) {
    EXPECT_FALSE(RunOne(early).has_value());
    late = early.ChangesLater(0, 9);
    ASSERT_TRUE(late.ok()) << late.error().message;
    seen = late.value();
  }
  EXPECT_TRUE(seen);
}

// Between the rows of a tensor that is changed in place lies what was there before.
TEST_F(Probing, RefusesAStoreBetweenTheRowsOfATensorChangedInPlace) {
  Use("tests/data/toy/toy_centre", {{"T", 4}, {"N", 16}});
  shape_.strides["ldx"] = 20;
  const auto source = [](const char* at_the_end) {
    return std::string(
               "#include <stdint.h>\nextern \"C\" void toy_centre(float* x, const float* shift, int64_t T, "
               "int64_t N, int64_t ldx, float scale) {\n"
               "  for (int64_t t = 0; t < T; ++t)\n"
               "    for (int64_t n = 0; n < N; ++n) x[t * ldx + n] = scale * x[t * ldx + n] + shift[n];\n") +
           at_the_end + "}\n";
  };
  Probe right = StartOf(source(""));
  EXPECT_FALSE(RunOne(right).has_value());
  Probe wrong = StartOf(source("  x[N + 1] = 0;\n"));
  const auto refused = RunOne(wrong);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->reason, Reason::kWroteOutside) << refused->evidence;
}

}  // namespace
}  // namespace assay
