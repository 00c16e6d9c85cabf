// SPDX-License-Identifier: Apache-2.0
// Every file of tests/hostile goes through the gate and must end as its first line says: rejected for
// the named reason, or verified where it is an honest neighbour.  Files with the knob WHERE cheat
// everywhere, or only at the shapes that are timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "contract/load.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "verify/gate.h"

namespace assay {
namespace {

const std::filesystem::path kSource = ASSAY_SOURCE_DIR;

struct HostileCase {
  std::filesystem::path file;
};

std::vector<HostileCase> HostileCases() {
  std::vector<HostileCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "tests/hostile")) {
    if (entry.path().extension() != ".cpp") continue;
    cases.push_back({entry.path()});
  }
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
  return cases;
}

// One contract, one builder and one gate for the whole table, as in a campaign.
struct Bench {
  Bench() : builder(std::filesystem::path(ASSAY_BUILD_DIR) / "test-cache"), gate(builder, Options()) {
    auto loaded = LoadContract(kSource / "contracts/softmax_rows");
    if (loaded.ok()) contract = std::move(loaded).value();
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  }
  static GateOptions Options() {
    GateOptions options;
    options.seed = Seed::FromNumber(20);
    options.cache = std::filesystem::path(ASSAY_BUILD_DIR) / "test-cache";
    options.threads = 2;
    return options;
  }

  Contract contract;
  CppBuilder builder;
  KernelGate gate;
};

Bench& SharedBench() {
  static Bench bench;
  return bench;
}

struct Passage {
  std::optional<Rejected> rejected;  // none: build, screen and verify accept
  std::vector<CheckRecord> checks;
};

// `exam`: go on to it when screen and verify accept; what only a full comparison can see ends there.
Result<Passage> ThroughTheGate(const Candidate& candidate, bool exam) {
  Bench& bench = SharedBench();
  ASSAY_TRY(const BuildOutcome built, bench.builder.Build(bench.contract, candidate, BuildVariant::kPrimary));
  if (const auto* refused = std::get_if<Rejected>(&built)) return Passage{*refused, refused->checks};
  ASSAY_TRY(const ScreenOutcome screened, bench.gate.Screen(bench.contract, std::get<Artifact>(built)));
  if (const auto* refused = std::get_if<Rejected>(&screened)) return Passage{*refused, refused->checks};
  ASSAY_TRY(const VerifyOutcome verified, bench.gate.Verify(bench.contract, std::get<Screened>(screened)));
  if (const auto* refused = std::get_if<Rejected>(&verified)) return Passage{*refused, refused->checks};
  if (!exam) return Passage{std::nullopt, std::get<Verified>(verified).checks()};
  ASSAY_TRY(const ExamOutcome examined, bench.gate.Examine(bench.contract, candidate, std::get<Verified>(verified)));
  if (const auto* refused = std::get_if<Rejected>(&examined)) return Passage{*refused, refused->checks};
  return Passage{std::nullopt, std::get<Examined>(examined).checks()};
}

// One line a case: the table that docs/gate.md shows.
void Print(const KnobValues& point, const Passage& passage) {
  double seconds = 0;
  for (const CheckRecord& check : passage.checks) seconds += check.seconds;
  const std::string where = point.empty() ? "" : " WHERE=" + point.begin()->second;
  if (!passage.rejected) {
    std::printf("   %s verified in %.2f s:", where.c_str(), seconds);
    for (const CheckRecord& check : passage.checks) std::printf(" %s %.3f;", check.name.c_str(), check.seconds);
    std::printf("\n");
    return;
  }
  const Rejected& r = *passage.rejected;
  std::printf("   %s %s by %s / %s in %.2f s: %s\n", where.c_str(), std::string(Name(r.reason)).c_str(),
              std::string(Name(r.stage)).c_str(), r.check.c_str(), seconds, r.evidence.substr(0, 240).c_str());
}

class Hostile : public testing::TestWithParam<HostileCase> {};

TEST_P(Hostile, EndsAsItsFirstLineSays) {
  const auto source = ReadTemplate(GetParam().file, SharedBench().contract);
  ASSERT_TRUE(source.ok()) << source.error().message;
  const Template& family = source.value();
  ASSERT_TRUE(family.expectation.has_value());
  std::vector<KnobValues> points;
  for (const Knob& knob : family.knobs) {
    ASSERT_EQ(knob.name, "WHERE");
    for (const std::string& value : knob.values) points.push_back({{knob.name, value}});
  }
  if (points.empty()) points.push_back({});
  for (const KnobValues& point : points) {
    SCOPED_TRACE(point.empty() ? "" : "WHERE=" + point.begin()->second);
    const auto candidate = MakeCandidate(family, point, {});
    ASSERT_TRUE(candidate.ok()) << candidate.error().message;
    const auto outcome = ThroughTheGate(candidate.value(), family.expectation->verdict == "rejected");
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    const std::optional<Rejected>& rejected = outcome.value().rejected;
    Print(point, outcome.value());
    if (family.expectation->verdict != "rejected") {
      EXPECT_FALSE(rejected.has_value()) << Name(rejected->reason) << " by " << rejected->check << ": "
                                         << rejected->evidence;
      continue;
    }
    ASSERT_TRUE(rejected.has_value()) << "got through";
    EXPECT_EQ(Name(rejected->reason), Name(*family.expectation->reason))
        << rejected->check << ": " << rejected->evidence;
    EXPECT_FALSE(rejected->evidence.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, Hostile, testing::ValuesIn(HostileCases()),
                         [](const auto& row) { return row.param.file.stem().string(); });

}  // namespace
}  // namespace assay
