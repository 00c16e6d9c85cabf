// SPDX-License-Identifier: Apache-2.0
// Honest kernels must never be refused: templates at random knobs, -O2 and -O3, both compilers, one and
// two threads, over all contracts that ship.  A short form runs with the tests; the full one is
//   ASSAY_HONEST_VARIANTS=60 ASSAY_HONEST_SEEDS=3 verify_test --gtest_filter='HonestVariants.*'
// and one contract alone is asked for by ASSAY_HONEST_CONTRACT=NAME.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "contract/load.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "verify/gate.h"

namespace assay {
namespace {

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;
const std::filesystem::path kCache = std::filesystem::path(ASSAY_BUILD_DIR) / "test-cache";

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::max(1, std::atoi(text));
}

// Each knob at random until the family's conditions hold; its defaults when none is found.
Result<Candidate> RandomPoint(const Template& family, const std::vector<std::string>& flags, Stream& stream) {
  for (int attempt = 0; attempt < 400; ++attempt) {
    KnobValues values;
    for (const Knob& knob : family.knobs) values[knob.name] = knob.values[stream.Below(knob.values.size())];
    auto candidate = MakeCandidate(family, values, flags);
    if (candidate.ok()) return candidate;
  }
  return MakeCandidate(family, {}, flags);
}

struct Tally {
  int tried = 0, not_built = 0;
  std::vector<std::string> refused;
};

class Honest {
 public:
  Honest() : builder_(kCache) {}

  // One variant through screen and verify.
  void Try(const Contract& contract, uint64_t seed, int number, Tally& tally) {
    Stream stream(Seed::FromNumber(seed).Derive(contract.name, static_cast<uint64_t>(number)));
    const auto& path = contract.templates[static_cast<size_t>(number) % contract.templates.size()];
    const auto family = ReadTemplate(path, contract);
    ASSERT_TRUE(family.ok()) << family.error().message;
    const std::string level = stream.Below(2) == 0 ? "-O2" : "-O3";
    const auto candidate = RandomPoint(family.value(), {level}, stream);
    ASSERT_TRUE(candidate.ok()) << candidate.error().message;
    const BuildVariant variant = stream.Below(2) == 0 ? BuildVariant::kPrimary : BuildVariant::kSecondCompiler;
    const int threads = stream.Below(2) == 0 ? 1 : 2;
    ++tally.tried;
    const auto built = builder_.Build(contract, candidate.value(), variant);
    if (!built.ok() && built.error().code == ErrorCode::kUnavailable) {
      ++tally.not_built;
      return;
    }
    ASSERT_TRUE(built.ok()) << built.error().message;
    const auto* artifact = std::get_if<Artifact>(&built.value());
    ASSERT_NE(artifact, nullptr) << path << ": " << std::get<Rejected>(built.value()).evidence;
    if (const auto rejected = Judge(contract, *artifact, threads, seed)) {
      std::string knobs;
      for (const auto& [name, value] : candidate.value().knobs) knobs += " " + name + "=" + value;
      tally.refused.push_back(artifact->name + knobs + " " + level + ", " + artifact->compiler + ", " +
                              std::to_string(threads) + " threads: " + std::string(Name(rejected->reason)) + " by " +
                              rejected->check + ": " + rejected->evidence);
    }
  }

 private:
  std::optional<Rejected> Judge(const Contract& contract, const Artifact& artifact, int threads, uint64_t seed) {
    auto& gate = gates_[{threads, seed}];
    if (gate == nullptr) {
      GateOptions options;
      options.seed = Seed::FromNumber(seed);
      options.cache = kCache;
      options.threads = threads;
      gate = std::make_unique<KernelGate>(builder_, options);
    }
    const auto screened = gate->Screen(contract, artifact);
    EXPECT_TRUE(screened.ok()) << screened.error().message;
    if (!screened.ok()) return std::nullopt;
    if (const auto* rejected = std::get_if<Rejected>(&screened.value())) return *rejected;
    const auto verified = gate->Verify(contract, std::get<Screened>(screened.value()));
    EXPECT_TRUE(verified.ok()) << verified.error().message;
    if (!verified.ok()) return std::nullopt;
    if (const auto* rejected = std::get_if<Rejected>(&verified.value())) return *rejected;
    return std::nullopt;
  }

  CppBuilder builder_;
  std::map<std::pair<int, uint64_t>, std::unique_ptr<KernelGate>> gates_;
};

TEST(HonestVariants, AreNeverRefused) {
  const int variants = FromEnvironment("ASSAY_HONEST_VARIANTS", 4);
  const int seeds = FromEnvironment("ASSAY_HONEST_SEEDS", 1);
  const int first = FromEnvironment("ASSAY_HONEST_FIRST_SEED", 1);
  std::vector<Contract> contracts;
  const char* only = std::getenv("ASSAY_HONEST_CONTRACT");
  for (const std::string name : {"softmax_rows", "add_rmsnorm", "gemm", "gqa_attention", "gemm_bf16", "rope"}) {
    if (only != nullptr && name != only) continue;
    auto loaded = LoadContract(kSource / "contracts" / name);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    ASSERT_FALSE(loaded.value().templates.empty()) << name;
    contracts.push_back(std::move(loaded).value());
  }
  Tally tally;
  Honest honest;
  for (int s = 0; s < seeds; ++s) {
    const auto seed = static_cast<uint64_t>(first + s);
    for (int i = 0; i < variants; ++i) {
      honest.Try(contracts[static_cast<size_t>(i) % contracts.size()], seed, i / static_cast<int>(contracts.size()),
                 tally);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  std::printf("    %d variants, %d without a compiler, %zu refused\n", tally.tried, tally.not_built,
              tally.refused.size());
  for (const std::string& refused : tally.refused) ADD_FAILURE() << refused;
  EXPECT_GT(tally.tried, tally.not_built);
}

}  // namespace
}  // namespace assay
