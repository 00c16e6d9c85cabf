// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "language/cpp/compile.h"
#include "language/cpp/directives.h"
#include "language/cpp/machine_code.h"
#include "language/cpp/toolchain.h"
#include "language/testing/toy_contract.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using testing::ToyContract;
using testing::ToyKernel;

class BuilderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = TemporaryFolder::Create("assay-builder-test-");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryFolder(std::move(folder).value());
    builder_ = new CppBuilder(folder_->path() / "cache");
  }
  static void TearDownTestSuite() {
    delete builder_;
    delete folder_;
  }

  static Candidate Make(const std::string& source, const KnobValues& set = {},
                        std::vector<std::string> flags = {"-O2"}) {
    const auto family = ParseTemplate(source, "toy.cpp", contract_);
    EXPECT_TRUE(family.ok()) << family.error().message;
    return MakeCandidate(family.value(), set, std::move(flags)).value();
  }
  static BuildOutcome Build(const std::string& source, const KnobValues& set = {},
                            std::vector<std::string> flags = {"-O2"}) {
    auto built = builder_->Build(contract_, Make(source, set, std::move(flags)), BuildVariant::kPrimary);
    EXPECT_TRUE(built.ok()) << built.error().message;
    return std::move(built).value();
  }
  static Artifact Good(const std::string& source, const KnobValues& set = {},
                       std::vector<std::string> flags = {"-O2"}) {
    BuildOutcome built = Build(source, set, std::move(flags));
    if (const auto* rejected = std::get_if<Rejected>(&built)) {
      ADD_FAILURE() << rejected->evidence;
      return {};
    }
    return std::get<Artifact>(std::move(built));
  }

  static inline const Contract contract_ = ToyContract();
  static inline TemporaryFolder* folder_ = nullptr;
  static inline CppBuilder* builder_ = nullptr;
};

TEST_F(BuilderTest, RefusesWithReasonAndEvidence) {
  struct Row {
    const char* name;
    std::string source;
    Reason reason;
    const char* evidence;
  };
  const Row rows[] = {
      {"does not compile", ToyKernel("undeclared = 1;"), Reason::kBuildFailed, "candidate.cpp:5"},
      {"undefined function", ToyKernel("missing();", "void missing();"), Reason::kBuildFailed,
       "undefined reference to"},
      {"no entry", "#include <assay/contract.h>\n", Reason::kLoadFailed, "does not define extern \"C\" toy"},
      {"exports memcpy",
       ToyKernel("", "#include <stddef.h>\nextern \"C\" void* memcpy(void* a, const void*, size_t) { return a; }"),
       Reason::kPolicy, "exports memcpy"},
      {"constructor", ToyKernel("y = keep;", "static float* keep = new float[4];"), Reason::kPolicy, ".init_array"},
      {"constructor by attribute",
       ToyKernel("", "static volatile int seen;\n__attribute__((constructor)) static void early() { seen = 1; }"),
       Reason::kPolicy, ".init_array"},
      {"thread-local", ToyKernel("++count;", "static thread_local int count;"), Reason::kPolicy, "thread-local"},
      {"ifunc",
       ToyKernel("helper();",
                 "static void a() {}\nextern \"C\" { static void (*pick())() { return a; } }\nstatic void helper() "
                 "__attribute__((ifunc(\"pick\")));"),
       Reason::kPolicy, "IRELATIVE"},
      {"huge bss", ToyKernel("big[N] = 1;", "static volatile char big[3l << 29];"), Reason::kPolicy, ".bss"},
      {"include of a path", ToyKernel("", "#include \"/etc/passwd\""), Reason::kPolicy, "/etc/passwd"},
      {"flag beyond the policy", ToyKernel(), Reason::kPolicy, "-ffast-math needs fp"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const bool fast = std::string_view(row.name).starts_with("flag");
    const BuildOutcome outcome =
        Build(row.source, {}, fast ? std::vector<std::string>{"-ffast-math"} : std::vector<std::string>{"-O2"});
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ASSERT_NE(rejected, nullptr);
    EXPECT_EQ(Name(rejected->reason), Name(row.reason));
    EXPECT_THAT(rejected->evidence, HasSubstr(row.evidence));
  }
}

TEST_F(BuilderTest, CompileBombsEnd) {
  ASSERT_TRUE(PrimaryToolchain().ok());
  CompileJob job;
  job.toolchain = &PrimaryToolchain().value();
  job.source =
      "template <int A, long B> struct F { static constexpr long v = F<A - 1, B * 2>::v + F<A - 1, B * 2 + 1>::v; };\n"
      "template <long B> struct F<0, B> { static constexpr long v = B; };\nextern \"C\" long toy() { return F<22, "
      "0>::v; }\n";
  job.policy.required_exports = {"toy"};
  job.limit = std::chrono::seconds(1);
  const auto outcome = Compile(job);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  const auto* rejected = std::get_if<Rejected>(&outcome.value());
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(Name(rejected->reason), Name(Reason::kBuildTimeout)) << rejected->evidence;
}

TEST_F(BuilderTest, AcceptsTheNeighbours) {
  Good(ToyKernel("std::vector<float> v(4); y[0] = v[0];", "#include <vector>\nvoid Helper(float* p) { *p = 1; }\n"));
  Good(ToyKernel("static std::vector<float> kept(4); y[0] = kept[0];", "#include <vector>\n"));
  Good(ToyKernel("y[0] = expf(x[0]);", "#include <math.h>\nstatic float table[1024];\n"));
  Good(ToyKernel("\n#pragma omp parallel for\nfor (int64_t i = 0; i < N; ++i) y[i] = x[i];"));
}

TEST_F(BuilderTest, CachesByContent) {
  const Artifact first = Good(ToyKernel());
  EXPECT_EQ(first.path, Good(ToyKernel()).path);
  CppBuilder other(folder_->path() / "cache");  // a second process would see the same
  const auto again = other.Build(contract_, Make(ToyKernel()), BuildVariant::kPrimary);
  EXPECT_EQ(std::get<Artifact>(again.value()).id, first.id);
  EXPECT_EQ(std::get<Artifact>(again.value()).build_seconds, first.build_seconds);
  // A damaged file is built again, not believed.
  std::filesystem::permissions(first.path, std::filesystem::perms::owner_all);
  ASSERT_TRUE(WriteFileAtomically(first.path, "damaged").ok());
  const auto mended = other.Build(contract_, Make(ToyKernel()), BuildVariant::kPrimary);
  EXPECT_EQ(std::get<Artifact>(mended.value()).file_hash, first.file_hash);
  EXPECT_EQ(Sha256(ReadFile(first.path).value()), first.file_hash);
}

TEST_F(BuilderTest, TwinsAreWhatRuns) {
  const Artifact plain = Good(ToyKernel());
  const auto twin = [](const std::string& body, const std::string& extra = "") {
    return Good(ToyKernel(body, extra)).twin;
  };
  EXPECT_EQ(plain.twin, twin("// a comment"));
  EXPECT_EQ(plain.twin, twin("int unused = 3; (void)unused;"));
  EXPECT_EQ(twin("float a = x[0]; y[0] = a;"), twin("float renamed = x[0]; y[0] = renamed;"));
  EXPECT_NE(twin("y[0] = 3.25f;"), twin("y[0] = 3.5f;"));
  EXPECT_NE(twin("y[0] = expf(x[0]);", "#include <math.h>"), twin("y[0] = tanf(x[0]);", "#include <math.h>"));
  const std::string knob = "// assay:knob UNROLL = 1 | 2\n" + ToyKernel("y[0] = 1.0f * UNROLL;");
  EXPECT_NE(Good(knob, {{"UNROLL", "1"}}).twin, Good(knob, {{"UNROLL", "2"}}).twin);
}

TEST_F(BuilderTest, BuildsTwiceToTheSameCode) {
  const auto same = builder_->RebuildsToSameCode(contract_, Make(ToyKernel()));
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(same.value());
  const auto dated = builder_->RebuildsToSameCode(
      contract_, Make(ToyKernel("static const char* when = __DATE__; y[0] = when[N & 7];")));
  ASSERT_TRUE(dated.ok());
  ASSERT_TRUE(dated.value());
  EXPECT_EQ(dated.value()->reason, Reason::kBuildUnstable);
}

TEST_F(BuilderTest, PreparesSeveralAtOnce) {
  std::vector<Candidate> candidates;
  for (const char* value : {"1", "2", "3"})
    candidates.push_back(Make("// assay:knob STEP = 1 | 2 | 3\n" + ToyKernel("y[0] = STEP + 10;"), {{"STEP", value}}));
  ASSERT_TRUE(builder_->Prepare(contract_, candidates).ok());
  for (const Candidate& candidate : candidates) {
    const auto built = builder_->Build(contract_, candidate, BuildVariant::kPrimary);
    EXPECT_TRUE(std::get_if<Artifact>(&built.value()) != nullptr);
  }
}

TEST_F(BuilderTest, SecondCompiler) {
  if (!SecondToolchain().ok()) GTEST_SKIP() << SecondToolchain().error().message;
  const std::string source = ToyKernel("\n#pragma omp parallel\n{ if (omp_get_num_threads() == 1) y[0] = 1; }",
                                       "#include <omp.h>\n#include <cmath>\n");
  const auto built =
      builder_->Build(contract_, Make(source, {}, {"-O3", "-fvect-cost-model=unlimited", "-mtune=znver3"}),
                      BuildVariant::kSecondCompiler);
  ASSERT_TRUE(built.ok()) << built.error().message;
  const auto* artifact = std::get_if<Artifact>(&built.value());
  ASSERT_NE(artifact, nullptr) << std::get<Rejected>(built.value()).evidence;
  EXPECT_THAT(artifact->compiler, HasSubstr("clang++"));
}

TEST_F(BuilderTest, ReferencesAreFreeInFlagsAndLibraries) {
  ASSERT_TRUE(
      WriteFileAtomically(folder_->path() / "baseline.cpp",
                          ToyKernel("", "#include <cblas.h>\nextern \"C\" const char* toy_info() { return \"me\"; }"))
          .ok());
  ReferenceKernel reference;
  reference.name = "openblas";
  reference.kind = ReferenceKind::kPeer;
  reference.source = folder_->path() / "baseline.cpp";
  reference.flags = {"-O3", "-march=native", "-ffast-math"};
  if (FindLibrary("openblas").ok()) reference.libraries = {"openblas"};
  const auto built = builder_->BuildReference(contract_, reference);
  ASSERT_TRUE(built.ok()) << built.error().message;
  const auto* artifact = std::get_if<Artifact>(&built.value());
  ASSERT_NE(artifact, nullptr) << std::get<Rejected>(built.value()).evidence;
  EXPECT_TRUE(artifact->trusted_code);
  EXPECT_EQ(artifact->libraries.empty(), reference.libraries.empty());
}

TEST_F(BuilderTest, InspectsWithoutJudging) {
  CppInspector inspector;
  const Inspection inspection =
      inspector.Inspect(Good(ToyKernel("y[0] = expf(x[0]);", "#include <math.h>"), {}, {"-O3"}));
  EXPECT_THAT(inspection.facts.at("imports"), HasSubstr("expf"));
  EXPECT_NE(inspection.facts.at("code_bytes"), "0");
}

}  // namespace
}  // namespace assay
