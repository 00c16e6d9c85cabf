// SPDX-License-Identifier: Apache-2.0
// The toy contracts of tests/data/toy, each about one thing that a contract may ask for: admitted, their
// templates and honest kernels verified, their mutants and what lies in hostile/ refused for the reason
// that their first line names.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/load.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "verify/gate.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path kToys = fs::path(ASSAY_SOURCE_DIR) / "tests/data/toy";
const fs::path kCache = fs::path(ASSAY_BUILD_DIR) / "test-cache";

std::vector<std::string> ToyNames() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kToys)) {
    if (fs::exists(entry.path() / "contract.toml")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<fs::path> SourcesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".cpp") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Toy : public testing::TestWithParam<std::string> {
 protected:
  Toy() : builder_(kCache), gate_(builder_, Options()) {}

  void SetUp() override {
    auto loaded = LoadContract(kToys / GetParam());
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    contract_ = std::move(loaded).value();
  }

  static GateOptions Options() {
    GateOptions options;
    options.seed = Seed::FromNumber(7);
    options.cache = kCache;
    options.threads = 2;
    return options;
  }

  Result<std::optional<Rejected>> Pass(const fs::path& file) {
    ASSAY_TRY(const Template family, ReadTemplate(file, contract_));
    ASSAY_TRY(const Candidate candidate, MakeCandidate(family, {}, {}));
    ASSAY_TRY(const BuildOutcome built, builder_.Build(contract_, candidate, BuildVariant::kPrimary));
    if (const auto* refused = std::get_if<Rejected>(&built)) return std::optional(*refused);
    ASSAY_TRY(const ScreenOutcome screened, gate_.Screen(contract_, std::get<Artifact>(built)));
    if (const auto* refused = std::get_if<Rejected>(&screened)) return std::optional(*refused);
    ASSAY_TRY(const VerifyOutcome verified, gate_.Verify(contract_, std::get<Screened>(screened)));
    if (const auto* refused = std::get_if<Rejected>(&verified)) return std::optional(*refused);
    return std::optional<Rejected>();
  }

  void ExpectAsFirstLineSays(const fs::path& file) {
    SCOPED_TRACE(file.filename().string());
    const auto family = ReadTemplate(file, contract_);
    ASSERT_TRUE(family.ok()) << family.error().message;
    const auto outcome = Pass(file);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    const std::optional<Rejected>& rejected = outcome.value();
    const auto& expectation = family.value().expectation;
    if (!expectation || expectation->verdict != "rejected") {
      EXPECT_FALSE(rejected.has_value()) << Name(rejected->reason) << " by " << rejected->check << ": "
                                         << rejected->evidence;
      return;
    }
    ASSERT_TRUE(rejected.has_value()) << "got through";
    EXPECT_EQ(Name(rejected->reason), Name(*expectation->reason)) << rejected->check << ": " << rejected->evidence;
    std::printf("    %s: %s by %s\n", file.filename().c_str(), std::string(Name(rejected->reason)).c_str(),
                rejected->check.c_str());
  }

  Contract contract_;
  CppBuilder builder_;
  KernelGate gate_;
};

TEST_P(Toy, IsAdmitted) {
  const auto admission = gate_.Admit(contract_);
  ASSERT_TRUE(admission.ok()) << admission.error().message;
  for (const std::string& complaint : admission.value().complaints) ADD_FAILURE() << complaint;
  EXPECT_TRUE(admission.value().admitted);
}

TEST_P(Toy, TellsItsKernelsApart) {
  for (const char* folder : {"templates", "honest", "mutants", "hostile"}) {
    for (const fs::path& file : SourcesIn(kToys / GetParam() / folder)) ExpectAsFirstLineSays(file);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Toy, testing::ValuesIn(ToyNames()), [](const auto& row) { return row.param; });

}  // namespace
}  // namespace assay
