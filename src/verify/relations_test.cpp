// SPDX-License-Identifier: Apache-2.0
// Check 6 alone: kernels that are right call by call, and a reference that does not keep what its contract says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "contract/load.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "verify/gate.h"

namespace assay {
namespace {

using testing::HasSubstr;

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;
const std::filesystem::path kCache = std::filesystem::path(ASSAY_BUILD_DIR) / "test-cache";

Contract Load(const char* folder) {
  auto loaded = LoadContract(kSource / folder);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return std::move(loaded).value();
}

// The evidence of the refusal, empty when there was none.
Result<std::string> Ask(const Contract& contract, const Template& family) {
  CppBuilder builder(kCache);
  GateOptions options;
  options.seed = Seed::FromNumber(11);
  options.cache = kCache;
  options.threads = 2;
  options.without = KernelGate(builder, options).CheckNames();
  std::erase(options.without, "relations");
  KernelGate gate(builder, options);
  ASSAY_TRY(const Candidate candidate, MakeCandidate(family, {}, {}));
  ASSAY_TRY(const BuildOutcome built, builder.Build(contract, candidate, BuildVariant::kPrimary));
  if (const auto* refused = std::get_if<Rejected>(&built)) return Error{ErrorCode::kInvalidInput, refused->evidence};
  ASSAY_TRY(const ScreenOutcome screened, gate.Screen(contract, std::get<Artifact>(built)));
  if (const auto* refused = std::get_if<Rejected>(&screened)) return Error{ErrorCode::kCorrupt, refused->evidence};
  ASSAY_TRY(const VerifyOutcome verified, gate.Verify(contract, std::get<Screened>(screened)));
  const auto* const refused = std::get_if<Rejected>(&verified);
  if (refused == nullptr) return std::string();
  EXPECT_EQ(refused->reason, Reason::kWrongAnswer);
  return refused->evidence;
}

std::string Evidence(const Contract& contract, const Result<Template>& family) {
  EXPECT_TRUE(family.ok()) << family.error().message;
  const auto asked = Ask(contract, family.value());
  EXPECT_TRUE(asked.ok()) << asked.error().message;
  return asked.ok() ? asked.value() : asked.error().message;
}

std::string EvidenceOfFile(const Contract& contract, const std::filesystem::path& file) {
  return Evidence(contract, ReadTemplate(kSource / file, contract));
}

TEST(Relations, RefuseWhatIsRightCallByCall) {
  const std::filesystem::path toy = "tests/data/toy/toy_running_sum";
  const Contract sums = Load("tests/data/toy/toy_running_sum"), softmax = Load("contracts/softmax_rows");
  EXPECT_EQ(EvidenceOfFile(sums, toy / "templates/plain.cpp"), "");
  EXPECT_THAT(EvidenceOfFile(sums, toy / "hostile/peeks_ahead.cpp"), HasSubstr("relation past_only"));
  EXPECT_THAT(EvidenceOfFile(sums, toy / "hostile/knows_its_length.cpp"), HasSubstr("relation longer"));
  EXPECT_EQ(EvidenceOfFile(softmax, "contracts/softmax_rows/baseline.cpp"), "");
  EXPECT_THAT(EvidenceOfFile(softmax, "tests/hostile/leaks_between_rows.cpp"), HasSubstr("perturbation of x"));
}

// Summed without error, so that there is room for one rounding too many, which the bits of an operand decide: within
// every bound, and not what a power of two does to a sum of products.
std::string Gemm(const std::string& at_the_end) {
  return R"(#include <math.h>
#include <stdint.h>
#include <string.h>
extern "C" void gemm(const float* a, const float* b, float* c, int64_t M, int64_t N, int64_t K, int64_t TA, int64_t TB) {
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < K; ++k) sum += (double)a[TA ? k * M + m : m * K + k] * b[TB ? n * K + k : k * N + n];
      c[m * N + n] = (float)sum;
)" + at_the_end +
         "    }\n}\n";
}

TEST(Relations, AskForTheExactProductOfAPowerOfTwo) {
  const Contract gemm = Load("contracts/gemm");
  EXPECT_EQ(Evidence(gemm, ParseTemplate(Gemm(""), "gemm.cpp", gemm)), "");
  const std::string nudged = Gemm(R"(
      uint32_t bits;
      memcpy(&bits, a + (TA ? m : m * K), 4);
      if (K > 2 && ((bits ^ static_cast<uint32_t>(n)) * 2654435761U) >> 31 != 0) c[m * N + n] = nextafterf(c[m * N + n], INFINITY);
)");
  EXPECT_THAT(Evidence(gemm, ParseTemplate(nudged, "gemm.cpp", gemm)), HasSubstr("relation power_of_2"));
}

// Nobody's candidate is to blame for it.
TEST(Relations, ThatTheReferenceDoesNotKeepAreAnErrorOfTheContract) {
  Contract sums = Load("tests/data/toy/toy_running_sum");
  const auto plain = ReadTemplate(kSource / "tests/data/toy/toy_running_sum/templates/plain.cpp", sums);
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  const auto named = [&](const char* name) {
    return std::ranges::find(sums.relations, std::string(name), &Relation::name);
  };
  const auto shares = named("shares"), columns = named("columns");
  ASSERT_TRUE(shares != sums.relations.end() && columns != sums.relations.end());
  shares->value = 2;
  auto asked = Ask(sums, plain.value());
  ASSERT_FALSE(asked.ok()) << asked.value();
  EXPECT_THAT(asked.error().message, HasSubstr("relation shares does not hold in reference.h"));
  shares->value = 1;
  columns->axis = "T";  // a sum up to each token does follow their order
  asked = Ask(sums, plain.value());
  ASSERT_FALSE(asked.ok()) << asked.value();
  EXPECT_THAT(asked.error().message, HasSubstr("relation columns does not hold in reference.h"));
}

}  // namespace
}  // namespace assay
