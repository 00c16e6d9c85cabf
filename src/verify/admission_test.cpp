// SPDX-License-Identifier: Apache-2.0
#include "verify/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "contract/load.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "verify/gate.h"

namespace assay {
namespace {

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;
const std::filesystem::path kCache = std::filesystem::path(ASSAY_BUILD_DIR) / "test-cache";

Result<Admission> Admit(const std::filesystem::path& folder, uint64_t seed) {
  ASSAY_TRY(const Contract contract, LoadContract(folder));
  CppBuilder builder(kCache);
  GateOptions options;
  options.seed = Seed::FromNumber(seed);
  options.cache = kCache;
  options.threads = 1;  // of a campaign; what a contract can tell does not hang on it
  KernelGate gate(builder, options);
  return gate.Admit(contract);
}

std::string TableOf(const Admission& admission) {
  std::string table;
  char line[400];
  for (const AdmissionCase& c : admission.cases) {
    std::snprintf(line, sizeof line, "    %-44s %-9s %12.3g  %s %s\n", c.name.c_str(),
                  c.must_pass ? "honest" : "refuse", c.worst_over_limit, c.as_expected ? "" : "<--",
                  c.worst_regime.c_str());
    table += line;
  }
  for (const std::string& complaint : admission.complaints) table += "    ! " + complaint + "\n";
  std::snprintf(line, sizeof line, "    smallest mutant %.3g, largest honest %.3g, %.1f s\n", admission.smallest_mutant,
                admission.largest_honest, admission.seconds);
  return table + line;
}

// Faults that are refused wherever they apply, by name: what is narrower than f32 must never pass for it.
struct Shipped {
  const char* contract;
  std::vector<std::string> operands;
  bool functions;
};

std::vector<std::string> FaultsOf(const Shipped& shipped) {
  std::vector<std::string> faults = {"narrow bf16 accumulator", "narrow f16 accumulator", "narrow bf16 output",
                                     "truncation instead of rounding"};
  for (const std::string& operand : shipped.operands) {
    for (const char* fault : {"narrow tf32 ", "narrow f16 ", "narrow bf16 ", "two bf16 for "})
      faults.push_back(fault + operand);
  }
  if (shipped.functions) faults.insert(faults.end(), {"functions good to 17 bits", "narrow bf16 functions"});
  return faults;
}

const AdmissionCase* FindCase(const Admission& admission, const std::string& name) {
  const auto found = std::find_if(admission.cases.begin(), admission.cases.end(),
                                  [&](const AdmissionCase& c) { return c.name == name; });
  return found == admission.cases.end() ? nullptr : &*found;
}

class ShippedContract : public testing::TestWithParam<Shipped> {};

TEST_P(ShippedContract, TellsRightFromWrong) {
  const auto admission = Admit(kSource / "contracts" / GetParam().contract, 1);
  ASSERT_TRUE(admission.ok()) << admission.error().message;
  const std::string table = TableOf(admission.value());
  std::printf("%s", table.c_str());
  EXPECT_TRUE(admission.value().admitted);
  EXPECT_GT(admission.value().smallest_mutant, 1.0);
  EXPECT_LE(admission.value().largest_honest, 1.0);
  EXPECT_EQ(admission.value().gate_version, kGateVersion);
  for (const std::string& fault : FaultsOf(GetParam())) {
    const AdmissionCase* found = FindCase(admission.value(), "mutant " + fault);
    ASSERT_NE(found, nullptr) << fault;
    EXPECT_GT(found->worst_over_limit, 1.0) << fault;
    EXPECT_TRUE(found->as_expected) << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedContract,
                         testing::Values(Shipped{"softmax_rows", {"x"}, true},
                                         Shipped{"add_rmsnorm", {"x", "residual", "weight"}, true},
                                         Shipped{"gemm", {"a", "b"}, false},
                                         Shipped{"gqa_attention", {"q", "k", "v"}, true}),
                         [](const auto& shipped) { return std::string(shipped.param.contract); });

// A row that is lost between two threads: right on one, and a fault of which the gate must show that it finds it.
TEST(Control, IsAskedWithTheContractsOwnThreads) {
  const auto contract = LoadContract(kSource / "contracts/softmax_rows");
  ASSERT_TRUE(contract.ok()) << contract.error().message;
  if (ThreadsFor(contract.value(), 0) < 2) GTEST_SKIP() << "one processor";
  CppBuilder builder(kCache);
  GateOptions options;
  options.seed = Seed::FromNumber(3);
  options.cache = kCache;
  options.threads = 1;
  KernelGate gate(builder, options);
  const auto family = ReadTemplate(kSource / "contracts/softmax_rows/mutants/last_row_lost.cpp", contract.value());
  ASSERT_TRUE(family.ok()) << family.error().message;
  const auto candidate = MakeCandidate(family.value(), {}, {});
  ASSERT_TRUE(candidate.ok()) << candidate.error().message;
  const auto built = builder.Build(contract.value(), candidate.value(), BuildVariant::kPrimary);
  ASSERT_TRUE(built.ok()) << built.error().message;
  const Artifact& artifact = std::get<Artifact>(built.value());
  const auto screened = gate.Screen(contract.value(), artifact);
  ASSERT_TRUE(screened.ok()) << screened.error().message;
  EXPECT_TRUE(std::holds_alternative<Screened>(screened.value())) << "on one thread it loses nothing";
  const auto control = gate.Control(contract.value(), artifact);
  ASSERT_TRUE(control.ok()) << control.error().message;
  EXPECT_TRUE(std::holds_alternative<Rejected>(control.value()));
}

// A copy of softmax_rows with one line of its contract changed.
class Spoilt : public testing::Test {
 protected:
  Result<Admission> AdmitWith(const std::string& line, const std::string& instead) {
    ASSAY_TRY(const TemporaryFolder folder, TemporaryFolder::Create("admission"));
    const auto copy = folder.path() / "softmax_rows";
    std::filesystem::copy(kSource / "contracts/softmax_rows", copy, std::filesystem::copy_options::recursive);
    for (const char* extra : {"mutants", "honest", "templates"}) std::filesystem::remove_all(copy / extra);
    ASSAY_TRY(std::string text, ReadFile(copy / "contract.toml"));
    const size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    text.replace(at, line.size(), instead);
    ASSAY_TRY_STATUS(WriteFileAtomically(copy / "contract.toml", text));
    return Admit(copy, 1);
  }
  static bool Complains(const Admission& admission, const std::string& about) {
    return std::any_of(admission.complaints.begin(), admission.complaints.end(),
                       [&](const std::string& text) { return text.find(about) != std::string::npos; });
  }
};

TEST_F(Spoilt, ValuesThatShowNothingAreNotAdmitted) {
  const auto admission = AdmitWith("values = [", "values = [\"constant(0)\"] # ");
  ASSERT_TRUE(admission.ok()) << admission.error().message;
  EXPECT_FALSE(admission.value().admitted);
  EXPECT_TRUE(Complains(admission.value(), "null stale")) << TableOf(admission.value());
}

TEST_F(Spoilt, ACostThatNobodyPaysIsNotAdmitted) {
  const auto admission = AdmitWith("flops = \"5*R*C\"", "flops = \"500*R*C\"");
  ASSERT_TRUE(admission.ok()) << admission.error().message;
  EXPECT_FALSE(admission.value().admitted);
  EXPECT_TRUE(Complains(admission.value(), "[cost]")) << TableOf(admission.value());
}

// None of the four has a variance; a layer normalisation in the place of one of them has.
TEST_F(Spoilt, AOnePassVarianceIsRefusedWhereThereIsOne) {
  const auto folder = TemporaryFolder::Create("admission");
  ASSERT_TRUE(folder.ok());
  const auto copy = folder.value().path() / "softmax_rows";
  std::filesystem::copy(kSource / "contracts/softmax_rows", copy, std::filesystem::copy_options::recursive);
  for (const char* extra : {"mutants", "honest", "templates"}) std::filesystem::remove_all(copy / extra);
  ASSERT_TRUE(WriteFileAtomically(copy / "reference.h", R"(#include <assay/reference.h>
template <class Real>
void Reference(const assay::Args<Real>& a, const assay::Slice& slice) {
  const int64_t r = slice.index<1>()[0];
  const auto x = a.row("x", r);
  const auto moments = assay::CentredMoments(x);
  const Real inverse = assay::rsqrt(Real(moments.variance + Real(1e-5)));
  for (int64_t c = 0; c < x.size(); ++c) a.out("y", r, c) = (x[c] - moments.mean) * inverse;
}
)")
                  .ok());
  const auto admission = Admit(copy, 1);
  ASSERT_TRUE(admission.ok()) << admission.error().message;
  const AdmissionCase* found = FindCase(admission.value(), "mutant one-pass variance");
  ASSERT_NE(found, nullptr) << TableOf(admission.value());
  EXPECT_GE(found->worst_over_limit, kLeastMutant) << TableOf(admission.value());
}

TEST_F(Spoilt, WithoutARelaxedBaselineItIsNotAdmitted) {
  const auto admission = AdmitWith("relaxed = {", "unrelaxed = {");
  ASSERT_TRUE(admission.ok()) << admission.error().message;
  EXPECT_FALSE(admission.value().admitted);
  EXPECT_TRUE(Complains(admission.value(), "relaxed")) << TableOf(admission.value());
}

}  // namespace
}  // namespace assay
