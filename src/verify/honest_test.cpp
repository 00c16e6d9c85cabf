// SPDX-License-Identifier: Apache-2.0
// Honest kernels must never be refused: over all contracts that ship, the templates at random knobs and
// the kernels that authors wrote in other ways (other orders, double, one-pass, rsqrt with a Newton step,
// split sums), each at -O2 or -O3, contracted to FMA or not, with vectors of three widths, by both
// compilers, with one and two threads.  A short form runs with the tests; the full one is bench/honest.sh:
//   ASSAY_HONEST_VARIANTS=200 ASSAY_HONEST_SEEDS=5 ASSAY_HONEST_EXAMS=20 verify_test --gtest_filter='HonestVariants.*'
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
  return text == nullptr ? otherwise : std::max(0, std::atoi(text));
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
  int variants = 0, asked = 0, examined = 0, not_built = 0;
  std::map<std::string, int> how;  // "-O3", "clang", "1 thread": variants
  std::vector<std::string> refused;
};

// One honest kernel, built in one way; what the gates of all seeds are asked about.
struct Built {
  std::string label;
  Candidate candidate;
  std::optional<Artifact> artifact;  // none: there is no such compiler here
  int threads = 1;
};

class Honest {
 public:
  Honest() : builder_(kCache) {}

  Built Build(const Contract& contract, int number, Tally& tally) {
    Built built;
    Stream stream(Seed::FromNumber(1).Derive(contract.name, static_cast<uint64_t>(number)));
    std::vector<std::filesystem::path> paths = contract.templates;
    paths.insert(paths.end(), contract.honest.begin(), contract.honest.end());
    const auto& path = paths[static_cast<size_t>(number) % paths.size()];
    const auto family = ReadTemplate(path, contract);
    EXPECT_TRUE(family.ok()) << family.error().message;
    if (!family.ok()) return built;
    // Where the contract says strict nobody may fuse, so that no honest kernel does.
    const bool fused = stream.Below(2) == 1 && contract.policy.fp != FpPolicy::kStrict;
    const std::string flags[] = {stream.Below(2) == 0 ? "-O2" : "-O3",
                                 fused ? "-ffp-contract=fast" : "-ffp-contract=off",
                                 "-mprefer-vector-width=" + std::to_string(128 << stream.Below(3))};
    auto candidate = RandomPoint(family.value(), {std::begin(flags), std::end(flags)}, stream);
    EXPECT_TRUE(candidate.ok()) << candidate.error().message;
    if (!candidate.ok()) return built;
    built.candidate = std::move(candidate).value();
    const BuildVariant variant = stream.Below(2) == 0 ? BuildVariant::kPrimary : BuildVariant::kSecondCompiler;
    built.threads = stream.Below(2) == 0 ? 1 : 2;
    ++tally.variants;
    auto outcome = builder_.Build(contract, built.candidate, variant);
    if (!outcome.ok() && outcome.error().code == ErrorCode::kUnavailable) {
      ++tally.not_built;
      return built;
    }
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    if (!outcome.ok()) return built;
    if (const auto* rejected = std::get_if<Rejected>(&outcome.value())) {
      ADD_FAILURE() << path << ": " << rejected->evidence;
      return built;
    }
    built.artifact = std::get<Artifact>(std::move(outcome).value());
    built.label = built.artifact->name;
    for (const auto& [name, value] : built.candidate.knobs) built.label += " " + name + "=" + value;
    for (const std::string& flag : flags) {
      built.label += " " + flag;
      ++tally.how[flag];
    }
    const std::string compiler = built.artifact->compiler.substr(0, built.artifact->compiler.find(' '));
    const std::string threads = std::to_string(built.threads) + (built.threads == 1 ? " thread" : " threads");
    built.label += ", " + built.artifact->compiler + ", " + threads;
    ++tally.how[compiler];
    ++tally.how[threads];
    return built;
  }

  // Through screen and verify, and the exam where it is asked for, under one seed.
  void Try(const Contract& contract, const Built& built, uint64_t seed, bool exam, Tally& tally) {
    ++tally.asked;
    tally.examined += exam ? 1 : 0;
    const auto rejected = Judge(contract, built, seed, exam);
    if (!rejected) return;
    tally.refused.push_back(contract.name + " " + built.label + ", seed " + std::to_string(seed) + ": " +
                            std::string(Name(rejected->reason)) + " by " + rejected->check + ": " + rejected->evidence);
  }

 private:
  template <class Outcome>
  static bool Failed(const Outcome& outcome) {
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    return !outcome.ok();
  }

  std::optional<Rejected> Judge(const Contract& contract, const Built& built, uint64_t seed, bool exam) {
    auto& gate = gates_[{built.threads, seed}];
    if (gate == nullptr) {
      GateOptions options;
      options.seed = Seed::FromNumber(seed);
      options.cache = kCache;
      options.threads = built.threads;
      options.rebuild = [this](const Contract& k, const Candidate& c) { return builder_.RebuildsToSameCode(k, c); };
      gate = std::make_unique<KernelGate>(builder_, options);
    }
    const auto screened = gate->Screen(contract, *built.artifact);
    if (Failed(screened)) return std::nullopt;
    if (const auto* rejected = std::get_if<Rejected>(&screened.value())) return *rejected;
    const auto verified = gate->Verify(contract, std::get<Screened>(screened.value()));
    if (Failed(verified)) return std::nullopt;
    if (const auto* rejected = std::get_if<Rejected>(&verified.value())) return *rejected;
    if (!exam) return std::nullopt;
    const auto examined = gate->Examine(contract, built.candidate, std::get<Verified>(verified.value()));
    if (Failed(examined)) return std::nullopt;
    if (const auto* rejected = std::get_if<Rejected>(&examined.value())) return *rejected;
    return std::nullopt;
  }

  CppBuilder builder_;
  std::map<std::pair<int, uint64_t>, std::unique_ptr<KernelGate>> gates_;
};

void Print(const std::string& name, const Tally& tally) {
  std::string how;
  for (const auto& [word, count] : tally.how) how += (how.empty() ? "" : ", ") + word + " " + std::to_string(count);
  std::printf("| %s | %d | %d | %d | %zu | %s |\n", name.c_str(), tally.variants - tally.not_built, tally.asked,
              tally.examined, tally.refused.size(), how.c_str());
}

TEST(HonestVariants, AreNeverRefused) {
  const int variants = FromEnvironment("ASSAY_HONEST_VARIANTS", 4);
  const int seeds = FromEnvironment("ASSAY_HONEST_SEEDS", 1);
  const int exams = FromEnvironment("ASSAY_HONEST_EXAMS", 0);
  const int first = FromEnvironment("ASSAY_HONEST_FIRST_SEED", 1);
  std::vector<Contract> contracts;
  const char* only = std::getenv("ASSAY_HONEST_CONTRACT");
  for (const std::string name :
       {"softmax_rows", "add_rmsnorm", "gemm", "gqa_attention", "gemm_bf16", "rope", "layernorm", "quantized_gemm",
        "quantize_rows", "dropout", "cholesky_solve", "argmax", "topk_softmax_router", "cross_entropy"}) {
    if (only != nullptr && name != only) continue;
    auto loaded = LoadContract(kSource / "contracts" / name);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    ASSERT_FALSE(loaded.value().templates.empty()) << name;
    contracts.push_back(std::move(loaded).value());
  }
  std::printf("| contract | variants | asked | examined | refused | of them |\n|---|---|---|---|---|---|\n");
  int built = 0;
  Honest honest;
  const int count = static_cast<int>(contracts.size());
  for (int c = 0; c < count; ++c) {
    const Contract& contract = contracts[static_cast<size_t>(c)];
    Tally tally;
    const int share = variants / count + (c < variants % count ? 1 : 0);
    const int share_of_exams = exams / count + (c < exams % count ? 1 : 0);
    for (int number = 0; number < share; ++number) {
      const Built variant = honest.Build(contract, number, tally);
      if (!variant.artifact) continue;
      // The exam has secrets of its own; one seed is as good as another.
      for (int s = 0; s < seeds; ++s)
        honest.Try(contract, variant, static_cast<uint64_t>(first + s), s == 0 && number < share_of_exams, tally);
    }
    Print(contract.name, tally);
    std::fflush(stdout);
    for (const std::string& refused : tally.refused) ADD_FAILURE() << refused;
    built += tally.variants - tally.not_built;
  }
  EXPECT_GT(built, 0);
}

}  // namespace
}  // namespace assay
