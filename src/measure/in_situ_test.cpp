// SPDX-License-Identifier: Apache-2.0
//
// Live: producer, kernel and consumer in processes of their own that hand pages on.  What they do and how often is
// asserted, how long never.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "measure/clock.h"
#include "measure/group.h"
#include "measure/testing/toy.h"

namespace assay {
namespace {

using testing::BuildToy;
using testing::CountingKernel;
using testing::FullAudit;
using ::testing::HasSubstr;
using testing::TimedToy;
using testing::ToyKernel;

constexpr long kFast = 50'000, kSlow = 2'000'000;  // loops

// Everything is right; what it saw of the inputs is kept.
class Believer : public Auditor {
 public:
  Result<std::optional<Rejected>> Audit(std::span<const TimedCall> calls) override {
    for (const TimedCall& call : calls) {
      float x = 0;
      std::memcpy(&x, call.tensors[0].data() + 5 * sizeof x, sizeof x);
      ++inputs[x];
      structured = structured && call.structured;
    }
    return std::optional<Rejected>();
  }
  std::map<float, int> inputs;  // element 5
  bool structured = true;
};

// A toy by its contract's name: once is y = 2 x + bias, twice is that of it again.
class ToysAudit : public Auditor {
 public:
  Result<std::optional<Rejected>> Audit(std::span<const TimedCall> calls) override {
    for (const TimedCall& call : calls) {
      ++audited[call.contract->name];
      const size_t count = call.tensors[0].size() / sizeof(float);
      for (size_t i = 0; i < count; ++i) {
        float x = 0, y = 0;
        std::memcpy(&x, call.tensors[0].data() + i * sizeof x, sizeof x);
        std::memcpy(&y, call.tensors[1].data() + i * sizeof y, sizeof y);
        const auto bias = static_cast<float>(call.scalars[0]);
        const float once = 2.0F * x + bias, due = call.contract->name == "twice" ? 2.0F * once + bias : once;
        if (std::abs(y - due) <= 1e-4F) continue;
        return std::optional<Rejected>(Rejected{.stage = Stage::kMeasure,
                                                .reason = Reason::kAuditMismatch,
                                                .check = "audit of " + call.contract->name,
                                                .evidence = "element " + std::to_string(i),
                                                .checks = {}});
      }
    }
    return std::optional<Rejected>();
  }
  std::map<std::string, int> audited;  // calls by contract
};

Contract InSitu() {
  Contract contract = TimedToy();
  contract.workloads[0].state = CacheState::kInSitu;
  contract.workloads[0].scalars = {{"bias", 1.0}};
  return contract;
}

class LiveInSitu : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = TemporaryFolder::Create("assay-in-situ-test-");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryFolder(std::move(folder).value());
  }
  static void TearDownTestSuite() { delete folder_; }
  static Artifact Build(const std::string& source, const std::string& name) {
    return BuildToy(contract_, folder_->path() / "cache", source, name);
  }
  // The toy is its own producer and consumer: what one wrote as y the next reads as x.
  static NeighbourKernel Beside(const std::string& source, const std::string& name) {
    NeighbourKernel kernel;
    kernel.contract = std::shared_ptr<const Contract>(&contract_, [](const Contract*) {});
    kernel.shape = WorkloadShape(contract_, contract_.workloads[0]).value();
    kernel.artifact = Build(source, name);
    kernel.output = "y";
    kernel.input = "x";
    return kernel;
  }
  static Result<GroupResult> RunGroup(const std::vector<Arm>& arms, Surroundings around, Auditor& audit,
                                      const Contract& contract = contract_) {
    GroupRunner runner(contract, contract.workloads[0], WorkloadShape(contract, contract.workloads[0]).value(),
                       std::move(around), audit, Seed::FromNumber(3));
    return runner.Run(0, arms, {.threads = 1, .depth = Depth::kRank, .limits = UnitLimits::OfThisMachine()});
  }

  static Contract Twice() {
    Contract contract = InSitu();
    contract.name = "twice";
    return contract;
  }
  // Two toys, one behind the other.
  static void Chain2(KernelChain& chain, const Artifact& first, const Artifact& second, const Shape& shape) {
    chain.name = chain.key = "chain";
    chain.parts = {PartOf(contract_, shape, first, kOwnDraw), PartOf(contract_, shape, second, kOwnDraw)};
    chain.parts[0].tensors[1] = std::nullopt;  // only the second one reads it
    chain.parts[1].tensors[0] = std::nullopt;
    chain.parts[1].links.push_back({0, 0, 1});
  }

  static inline const Contract contract_ = InSitu();
  static inline const Contract twice_ = Twice();
  static inline TemporaryFolder* folder_ = nullptr;
};

Arm Of(const Artifact& artifact) { return {.name = artifact.name, .artifact = &artifact, .planted_name = {}}; }

TEST_F(LiveInSitu, UnitsAreSumsOverProducerKernelAndConsumer) {
  const Artifact a = Build(CountingKernel(kFast), "a"), b = Build(CountingKernel(kFast + 1), "b");
  FullAudit audit;
  auto group =
      RunGroup({Of(a), Of(b)}, {Beside(ToyKernel(), "producer"), Beside(CountingKernel(kSlow), "consumer")}, audit);
  ASSERT_TRUE(group.ok()) << group.error().message;
  EXPECT_TRUE(group.value().rejected.empty()) << group.value().rejected[0].second.evidence;
  std::map<std::string, int> units;
  int mostly_beside = 0;
  for (const RawUnit& unit : group.value().units) {
    ++units[unit.arm];
    EXPECT_EQ(unit.calls, 1);  // short as it is: the next producer's call would come between
    EXPECT_FALSE(unit.gated);
    EXPECT_LT(unit.own_ns, unit.wall_ns);
    mostly_beside += 2 * unit.own_ns < unit.wall_ns - unit.null_ns ? 1 : 0;
  }
  ASSERT_GE(units["a"], 1);
  ASSERT_GE(units["b"], 1);
  // The consumer counts forty times as far as the kernels do.
  EXPECT_GT(2 * mostly_beside, units["a"] + units["b"]);
  // Each call of the arms is compared, on the numbers that the producer left there, no call of the neighbours: the
  // same content reaches each of the two arms once.
  EXPECT_GT(audit.audited, units["a"] + units["b"]);
  for (const auto& [content, times] : audit.seen) EXPECT_LE(times, 2);
}

TEST_F(LiveInSitu, WithoutNeighboursAllOfItIsTheKernels) {
  const Artifact a = Build(CountingKernel(kFast), "a");
  FullAudit audit;
  auto group = RunGroup({Of(a)}, {}, audit);
  ASSERT_TRUE(group.ok()) << group.error().message;
  ASSERT_FALSE(group.value().units.empty());
  for (const RawUnit& unit : group.value().units) EXPECT_EQ(unit.own_ns, 0);
}

TEST_F(LiveInSitu, TheInputIsWhatTheProducerWroteAndTheConsumersWhatTheKernelWrote) {
  const std::string counts = ToyKernel("for (int64_t i = 0; i < T * N; ++i) y[i] = i; return;");
  // Two times five, and one: else this consumer falls.
  const std::string expects = ToyKernel("if (x[5] != 11.0f) __builtin_trap();");
  const struct {
    const char* name;
    std::string source;
    bool refused;
  } cases[] = {
      {"right", ToyKernel(), false},
      {"of an input that is not there", ToyKernel("for (int64_t i = 0; i < T * N; ++i) y[i] = i; return;"), true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Artifact kernel = Build(c.source, "kernel");
    Believer audit;
    auto group = RunGroup({Of(kernel)}, {Beside(counts, "counts"), Beside(expects, "expects")}, audit);
    ASSERT_TRUE(group.ok()) << group.error().message;
    EXPECT_EQ(audit.inputs.size(), 1U);
    EXPECT_EQ(audit.inputs.begin()->first, 5.0F);
    EXPECT_TRUE(audit.structured);  // nobody drew these mantissas
    ASSERT_EQ(!group.value().rejected.empty(), c.refused);
    if (!c.refused) continue;
    const Rejected& why = group.value().rejected[0].second;
    EXPECT_EQ(why.reason, Reason::kAuditMismatch);
    EXPECT_THAT(why.evidence, HasSubstr("failed on what this kernel left for it"));
  }
}

TEST_F(LiveInSitu, HostileKernelsAreFoundOut) {
  const Artifact honest = Build(CountingKernel(kFast), "honest");
  const struct {
    const char* name;
    std::string source;
    std::vector<Reason> reasons;
  } cases[] = {
      {"writes its input", ToyKernel("const_cast<float*>(x)[0] = 1;"), {Reason::kWroteInput, Reason::kCrash}},
      {"writes around its input, where the producer's guards are",
       ToyKernel("const_cast<float*>(x)[T * N] = 1;"),
       {Reason::kWroteInput, Reason::kWroteOutside, Reason::kCrash}},
      {"answers for the input of the call before",
       ToyKernel("static float kept[4096]; for (int i = 0; i < 4096; ++i) { const float now = x[i]; y[i] = 2.0f * "
                 "kept[i] + bias; kept[i] = now; } return;"),
       {Reason::kAuditMismatch}},
      {"answers without looking",
       ToyKernel("for (int64_t i = 0; i < T * N; ++i) y[i] = bias; return;"),
       {Reason::kAuditMismatch}},
      {"writes a slot that it was not given",
       ToyKernel("for (long i = 0; i < 3 * T * ldy; ++i) y[i] = x[i % (T * N)];"),
       {Reason::kWroteOutside, Reason::kCrash}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Artifact bad = Build(c.source, "bad");
    FullAudit audit;
    auto group =
        RunGroup({Of(honest), Of(bad)}, {Beside(ToyKernel(), "producer"), Beside(ToyKernel(), "consumer")}, audit);
    ASSERT_TRUE(group.ok()) << group.error().message;
    ASSERT_EQ(group.value().rejected.size(), 1U);
    EXPECT_EQ(group.value().rejected[0].first, "bad");
    const Rejected& why = group.value().rejected[0].second;
    EXPECT_THAT(c.reasons, ::testing::Contains(why.reason)) << Name(why.reason) << ": " << why.evidence;
    EXPECT_TRUE(std::any_of(group.value().units.begin(), group.value().units.end(),
                            [](const RawUnit& u) { return u.arm == "honest"; }));
  }
}

const char* const kTwice =
    "for (volatile long spent = 0; spent < 2000000; spent = spent + 1) {} for (int64_t i = 0; i < T * N; ++i) y[i] = "
    "2.0f * (2.0f * x[i] + bias) + bias; return;";

TEST_F(LiveInSitu, ASequenceIsTheSumOfItsSteps) {
  const Artifact fused = Build(ToyKernel(kTwice), "fused");
  const Artifact slow = Build(CountingKernel(kSlow), "slow"), slower = Build(CountingKernel(kSlow + 1), "slower");
  const Shape shape = WorkloadShape(contract_, contract_.workloads[0]).value();
  KernelChain chain;
  Chain2(chain, slow, slower, shape);
  for (const bool surrounded : {false, true}) {
    SCOPED_TRACE(surrounded);
    ToysAudit audit;
    Surroundings around;
    if (surrounded) around = {Beside(ToyKernel(), "producer"), Beside(ToyKernel(), "consumer")};
    auto group = RunGroup({Of(fused), Arm::Of(chain)}, std::move(around), audit, twice_);
    ASSERT_TRUE(group.ok()) << group.error().message;
    EXPECT_TRUE(group.value().rejected.empty()) << group.value().rejected[0].second.evidence;
    // By processor time, which does not depend on who else is about.
    std::map<std::string, int64_t> units, cpu_ns, wall_ns;
    for (const RawUnit& unit : group.value().units) {
      ++units[unit.arm];
      cpu_ns[unit.arm] += unit.cpu_ns;
      wall_ns[unit.arm] += unit.wall_ns;
      EXPECT_EQ(unit.own_ns != 0, surrounded);
    }
    // How many they get depends on their paces, which neighbours can spoil.
    ASSERT_GE(units["fused"], 1);
    ASSERT_GE(units["chain"], 1);
    EXPECT_GT(2 * cpu_ns["chain"] / units["chain"], 3 * cpu_ns["fused"] / units["fused"]);
    EXPECT_GT(10 * wall_ns["chain"], 8 * cpu_ns["chain"]);
    // Both steps of each call are compared by their own contract, and the whole by the fused kernel's.
    EXPECT_GE(audit.audited["toy"], 2 * units["chain"]);
    EXPECT_GE(audit.audited["twice"], units["chain"] + units["fused"]);
  }
}

TEST_F(LiveInSitu, AWrongSequenceIsRefused) {
  const Artifact fused = Build(ToyKernel(kTwice), "fused");
  const Artifact right = Build(ToyKernel(), "right"), wrong = Build(ToyKernel("bias = 0;"), "wrong");
  const Shape shape = WorkloadShape(contract_, contract_.workloads[0]).value();
  const struct {
    const char* name;
    const Artifact& second;
    const Contract& whole;
    const char* check;
  } cases[] = {
      {"a step that is wrong by itself", wrong, twice_, "audit of toy"},
      {"right steps that together are something else", right, contract_, "audit of toy"},
      {"right", right, twice_, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    KernelChain chain;
    Chain2(chain, right, c.second, shape);
    ToysAudit audit;
    const Artifact& one = &c.whole == &twice_ ? fused : right;
    auto group = RunGroup({Of(one), Arm::Of(chain)}, {}, audit, c.whole);
    ASSERT_TRUE(group.ok()) << group.error().message;
    const bool refused = c.check[0] != 0;
    ASSERT_EQ(group.value().rejected.size(), refused ? 1U : 0U);
    if (!refused) continue;
    EXPECT_EQ(group.value().rejected[0].first, "chain");
    EXPECT_EQ(group.value().rejected[0].second.check, c.check);
  }
}

TEST_F(LiveInSitu, AContractsSequenceIsAReferenceOfItsDecisions) {
  const std::filesystem::path source = folder_->path() / "baseline.cpp";
  std::ofstream(source) << ToyKernel();
  Contract step = TimedToy();
  step.references = {{"strict", ReferenceKind::kBaseline, source, {"-O2"}, {}, {}, "", ""}};
  Contract contract = TimedToy();
  contract.name = "twice";
  KernelSequence sequence;
  sequence.name = "twice";
  sequence.steps = {{"first", "toy", {{"y", "between"}}, {}, std::make_shared<const Contract>(step)},
                    {"second", "toy", {{"x", "between"}}, {}, std::make_shared<const Contract>(step)}};
  contract.sequences = {sequence};
  CppBuilder builder(folder_->path() / "cache");
  ToysAudit audit;
  TimerOptions options;
  options.seed = Seed::FromNumber(7);
  options.lease_file = folder_->path() / "clock.lock";
  options.calibrate = false;
  options.redraw = false;
  options.builder = &builder;
  KernelTimer timer(audit, options);
  const Verified plain = TrustForTest::MakeVerified(Build(ToyKernel(kTwice), "plain"));
  timer.SetWitness(plain);
  // The winner is called as the sequence is: both are still told apart.
  auto outcome = timer.Decide(
      contract, TrustForTest::MakeExamined(Build(ToyKernel(std::string("(void)0; ") + kTwice), "twice")), {&plain, 1},
      1e-3);  // one group
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  const auto* report = std::get_if<DecisionReport>(&outcome.value());
  ASSERT_NE(report, nullptr) << std::get<Rejected>(outcome.value()).evidence;
  EXPECT_EQ(report->design.references, (std::vector<std::string>{"plain", "twice"}));
  EXPECT_NE(report->winner, "twice");
  std::set<std::string> arms;
  for (const RawUnit& unit : report->units) arms.insert(unit.arm);
  EXPECT_THAT(arms, ::testing::IsSupersetOf({std::string("twice"), std::string("plain"), report->winner}));
  EXPECT_EQ(std::ranges::count(report->decisions, "twice", &Decision::against), 1);
}

TEST_F(LiveInSitu, AProducerThatFailsIsNobodysCandidate) {
  const Artifact honest = Build(ToyKernel(), "honest");
  FullAudit audit;
  auto group = RunGroup({Of(honest)}, {Beside(ToyKernel("__builtin_trap();"), "producer"), {}}, audit);
  ASSERT_FALSE(group.ok());
  EXPECT_THAT(group.error().message, HasSubstr("toy (producer), which runs beside the kernels"));
}

}  // namespace
}  // namespace assay
