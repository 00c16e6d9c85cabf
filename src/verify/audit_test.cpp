// SPDX-License-Identifier: Apache-2.0
#include "verify/audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "contract/load.h"
#include "contract/shape.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "sandbox/session.h"
#include "verify/gate.h"

namespace assay {
namespace {

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;
const std::filesystem::path kCache = std::filesystem::path(ASSAY_BUILD_DIR) / "test-cache";

// A timed call of softmax_rows as the clock hands it over, with the answer of a plain kernel.
class Auditing : public testing::Test {
 protected:
  static constexpr int64_t kRows = 16, kColumns = 64;

  void SetUp() override {
    auto loaded = LoadContract(kSource / "contracts/softmax_rows");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    contract_ = std::move(loaded).value();
    shape_ = DenseShape(contract_, {{"R", kRows}, {"C", kColumns}}).value();
    Stream stream(Seed::FromNumber(5));
    for (float& value : x_) value = static_cast<float>(stream.Normal());
    for (int64_t r = 0; r < kRows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < kColumns; ++c) sum += std::exp(static_cast<double>(x_[Index(r, c)]));
      for (int64_t c = 0; c < kColumns; ++c)
        y_[Index(r, c)] = static_cast<float>(std::exp(static_cast<double>(x_[Index(r, c)])) / sum);
    }
  }
  static size_t Index(int64_t r, int64_t c) { return static_cast<size_t>(r * kColumns + c); }

  TimedCall CallWith(const std::vector<float>& y) const {
    TimedCall call;
    call.contract = &contract_;
    call.shape = &shape_;
    call.tensors = {std::as_bytes(std::span(x_)), std::as_bytes(std::span(y))};
    call.structured = call.found = found_;
    return call;
  }

  std::optional<Rejected> Audit() {
    const TimedCall call = CallWith(y_);
    // Few slices are drawn of a call; so many calls see all sixteen rows.
    const std::vector<TimedCall> calls(12, call);
    SliceAuditor auditor(Seed::FromNumber(1), kCache);
    auto outcome = auditor.Audit(calls);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_GE(auditor.slices_audited(), 4);
    return outcome.ok() ? outcome.value() : std::nullopt;
  }

  Contract contract_;
  Shape shape_;
  std::vector<float> x_ = std::vector<float>(kRows * kColumns);
  std::vector<float> y_ = std::vector<float>(kRows * kColumns);
  bool found_ = false;  // another kernel wrote x
};

TEST_F(Auditing, LetsARightCallPass) { EXPECT_FALSE(Audit().has_value()); }

TEST_F(Auditing, FindsOneSkippedSlice) {
  for (int64_t c = 0; c < kColumns; ++c) y_[Index(7, c)] = 0;
  const auto rejected = Audit();
  ASSERT_TRUE(rejected.has_value());
  EXPECT_EQ(rejected->reason, Reason::kAuditMismatch);
  EXPECT_EQ(rejected->stage, Stage::kMeasure);
  EXPECT_NE(rejected->evidence.find("y[7,"), std::string::npos) << rejected->evidence;
}

// What another kernel wrote no check before has seen: there answers must be as precise as an honest kernel's, too.
TEST_F(Auditing, AsksForHonestPrecisionWhereInputsWereFound) {
  found_ = true;
  EXPECT_FALSE(Audit().has_value());
  float sign = 1;
  for (float& value : y_) value *= 1 + std::exchange(sign, -sign) * 3e-6F;
  const auto rejected = Audit();
  ASSERT_TRUE(rejected.has_value());
  EXPECT_EQ(rejected->reason, Reason::kAuditMismatch);
  found_ = false;
  EXPECT_FALSE(Audit().has_value());  // each element by itself is within its bounds
}

TEST_F(Auditing, TellsWhatWasNotFinishedFromWhatIsWrong) {
  const uint64_t poison = PoisonPattern(99);
  for (int64_t c = 0; c < kColumns; c += 2) std::memcpy(&y_[Index(7, c)], &poison, 8);
  auto rejected = Audit();
  ASSERT_TRUE(rejected.has_value());
  EXPECT_EQ(rejected->reason, Reason::kLateWork) << rejected->evidence;
  for (int64_t c = 0; c < kColumns; ++c) y_[Index(7, c)] = std::nanf("");
  rejected = Audit();
  ASSERT_TRUE(rejected.has_value());
  EXPECT_EQ(rejected->reason, Reason::kAuditMismatch) << rejected->evidence;
}

// Which calls of a unit are compared is drawn; one that was left out is found among many all the same.
TEST_F(Auditing, FindsOneCallOfManyThatWasLeftOut) {
  std::vector<float> untouched(y_.size());
  const uint64_t poison = PoisonPattern(7);
  for (size_t i = 0; i < untouched.size(); i += 2) std::memcpy(&untouched[i], &poison, 8);
  std::vector<TimedCall> calls(64, CallWith(y_));
  calls[41] = CallWith(untouched);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SliceAuditor auditor(Seed::FromNumber(seed), kCache);
    const auto outcome = auditor.Audit(calls);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    ASSERT_TRUE(outcome.value().has_value()) << "got through with seed " << seed;
    EXPECT_EQ(outcome.value()->reason, Reason::kLateWork);
  }
}

// As docs/gate.md promises: at least four slices of every audited call, however much work one of them is.
TEST_F(Auditing, ComparesFourSlicesOfACostlyCall) {
  constexpr int64_t kFew = 8, kMany = 16384;
  shape_ = DenseShape(contract_, {{"R", kFew}, {"C", kMany}}).value();
  x_.assign(static_cast<size_t>(kFew * kMany), 1.0F);
  y_.assign(x_.size(), 1.0F / kMany);
  SliceAuditor auditor(Seed::FromNumber(1), kCache);
  // Of a unit of twelve one call is compared, where three would cost a hundred times what they take.
  const auto outcome = auditor.Audit(std::vector<TimedCall>(12, CallWith(y_)));
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_FALSE(outcome.value().has_value());
  EXPECT_EQ(auditor.slices_audited(), 4);
}

// The rows of a tensor that is changed in place, centred; what is left as it was is told from what is wrong.
class AuditingInPlace : public testing::Test {
 protected:
  static constexpr int64_t kRows = 12, kColumns = 32;

  void SetUp() override {
    auto loaded = LoadContract(kSource / "tests/data/toy/toy_centre");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    contract_ = std::move(loaded).value();
    auto shape = DenseShape(contract_, {{"T", kRows}, {"N", kColumns}});
    ASSERT_TRUE(shape.ok()) << shape.error().message;
    shape_ = shape.value();
    Stream stream(Seed::FromNumber(5));
    for (float& value : before_) value = static_cast<float>(1.0 + stream.Normal());
    for (size_t row = 0; row < before_.size(); row += kColumns) {
      double mean = 0;
      for (size_t i = 0; i < kColumns; ++i) mean += static_cast<double>(before_[row + i]) / kColumns;
      for (size_t i = 0; i < kColumns; ++i)
        after_[row + i] = static_cast<float>(static_cast<double>(before_[row + i]) - mean);
    }
  }

  TimedCall CallWith(const std::vector<float>& after) const {
    TimedCall call;
    call.contract = &contract_;
    call.shape = &shape_;
    call.scalars = {1.0};
    call.tensors = {std::as_bytes(std::span(after)), std::as_bytes(std::span(shift_))};
    call.before = {std::as_bytes(std::span(before_)), {}};
    return call;
  }

  static std::optional<Rejected> Audit(const std::vector<TimedCall>& calls) {
    SliceAuditor auditor(Seed::FromNumber(1), kCache);
    auto outcome = auditor.Audit(calls);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    return outcome.ok() ? outcome.value() : std::nullopt;
  }

  Contract contract_;
  Shape shape_;
  std::vector<float> shift_ = std::vector<float>(kColumns);
  std::vector<float> before_ = std::vector<float>(kRows * kColumns);
  std::vector<float> after_ = std::vector<float>(kRows * kColumns);
};

TEST_F(AuditingInPlace, TellsWhatWasLeftAsItWasFromWhatIsWrong) {
  EXPECT_FALSE(Audit({CallWith(after_)}).has_value());
  std::vector<float> left = after_, wrong = after_;
  for (size_t i = 5 * kColumns; i < 6 * kColumns; ++i) left[i] = before_[i], wrong[i] += 0.5F;
  const auto late = Audit({CallWith(left)});
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->reason, Reason::kLateWork) << late->evidence;
  const auto mismatch = Audit({CallWith(wrong)});
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_EQ(mismatch->reason, Reason::kAuditMismatch) << mismatch->evidence;
}

TEST_F(AuditingInPlace, FindsOneCallOfManyThatWasLeftOut) {
  std::vector<TimedCall> calls(64, CallWith(after_));
  EXPECT_FALSE(Audit(calls).has_value());
  calls[41] = CallWith(before_);
  const auto rejected = Audit(calls);
  ASSERT_TRUE(rejected.has_value()) << "got through";
  EXPECT_EQ(rejected->reason, Reason::kLateWork);
}

// Right wherever verify looks in other ways, wrong in one row of the timed shape.
class Exam : public testing::Test {
 protected:
  static Result<ExamOutcome> Take(const std::filesystem::path& file) {
    ASSAY_TRY(const Contract contract, LoadContract(kSource / "contracts/softmax_rows"));
    CppBuilder builder(kCache);
    GateOptions options;
    options.seed = Seed::FromNumber(3);
    options.cache = kCache;
    options.threads = 2;
    options.rebuild = [&](const Contract& k, const Candidate& c) { return builder.RebuildsToSameCode(k, c); };
    KernelGate gate(builder, options);
    ASSAY_TRY(const Template family, ReadTemplate(file, contract));
    ASSAY_TRY(const Candidate candidate, MakeCandidate(family, {}, {}));
    ASSAY_TRY(const BuildOutcome built, builder.Build(contract, candidate, BuildVariant::kPrimary));
    if (const auto* refused = std::get_if<Rejected>(&built)) return ExamOutcome(*refused);
    ASSAY_TRY(const ScreenOutcome screened, gate.Screen(contract, std::get<Artifact>(built)));
    if (const auto* refused = std::get_if<Rejected>(&screened)) return ExamOutcome(*refused);
    ASSAY_TRY(const VerifyOutcome verified, gate.Verify(contract, std::get<Screened>(screened)));
    if (const auto* refused = std::get_if<Rejected>(&verified)) return ExamOutcome(*refused);
    return gate.Examine(contract, candidate, std::get<Verified>(verified));
  }
};

TEST_F(Exam, CrownsAnHonestKernel) {
  const auto outcome = Take(kSource / "tests/hostile/honest_lanes.cpp");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  if (const auto* refused = std::get_if<Rejected>(&outcome.value()))
    FAIL() << refused->check << ": " << refused->evidence;
  const auto& checks = std::get<Examined>(outcome.value()).checks();
  for (const char* name : {"builds twice to the same code", "second compiler", "full comparison at the timed shapes"}) {
    EXPECT_TRUE(std::any_of(checks.begin(), checks.end(), [&](const CheckRecord& c) { return c.name == name; }))
        << name;
  }
  for (const CheckRecord& check : checks)
    std::printf("    %-40s %5lld cases %7.3f s\n", check.name.c_str(), static_cast<long long>(check.cases),
                check.seconds);
}

TEST_F(Exam, ComparesEverySliceOfTheTimedShape) {
  const auto outcome = Take(kSource / "tests/hostile/skips_one_row.cpp");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  const auto* refused = std::get_if<Rejected>(&outcome.value());
  ASSERT_NE(refused, nullptr) << "one wrong row of 4096 got through the exam";
  EXPECT_EQ(refused->reason, Reason::kWrongAnswer);
  EXPECT_NE(refused->evidence.find("y[1234,"), std::string::npos) << refused->evidence;
}

}  // namespace
}  // namespace assay
