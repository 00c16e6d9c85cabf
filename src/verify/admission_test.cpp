// SPDX-License-Identifier: Apache-2.0
#include "verify/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "contract/load.h"
#include "language/cpp/builder.h"
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

class ShippedContract : public testing::TestWithParam<const char*> {};

TEST_P(ShippedContract, TellsRightFromWrong) {
  const auto admission = Admit(kSource / "contracts" / GetParam(), 1);
  ASSERT_TRUE(admission.ok()) << admission.error().message;
  const std::string table = TableOf(admission.value());
  std::printf("%s", table.c_str());
  EXPECT_TRUE(admission.value().admitted);
  EXPECT_GE(admission.value().smallest_mutant, kLeastMutant);
  EXPECT_LE(admission.value().largest_honest, 1.0);
  EXPECT_EQ(admission.value().gate_version, kGateVersion);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedContract, testing::Values("softmax_rows", "add_rmsnorm", "gemm", "gqa_attention"));

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

TEST_F(Spoilt, WithoutARelaxedBaselineItIsNotAdmitted) {
  const auto admission = AdmitWith("relaxed = {", "unrelaxed = {");
  ASSERT_TRUE(admission.ok()) << admission.error().message;
  EXPECT_FALSE(admission.value().admitted);
  EXPECT_TRUE(Complains(admission.value(), "relaxed")) << TableOf(admission.value());
}

}  // namespace
}  // namespace assay
