// SPDX-License-Identifier: Apache-2.0
//
// Live: real processes behind real walls.  What they do and how often is asserted, how long never.
#include "measure/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "measure/course.h"
#include "measure/lease.h"
#include "measure/testing/toy.h"

namespace assay {
namespace {

using testing::BuildToy;
using testing::CountingKernel;
using testing::FullAudit;
using testing::TimedToy;
using testing::ToyKernel;

constexpr long kFast = 50'000, kSlow = 400'000;  // loops: a fraction of a millisecond

class LiveClock : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = TemporaryFolder::Create("assay-clock-test-");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryFolder(std::move(folder).value());
  }
  static void TearDownTestSuite() { delete folder_; }
  static Artifact Build(const std::string& source, const std::string& name) {
    return BuildToy(contract_, folder_->path() / "cache", source, name);
  }

  TimerOptions Options() const {
    TimerOptions options;
    options.seed = Seed::FromNumber(7);
    options.lease_file = folder_->path() / "clock.lock";
    options.calibrate = false;
    options.redraw = false;  // tests run beside compilers
    return options;
  }
  Result<GroupResult> RunGroup(std::vector<Arm> arms, Depth depth = Depth::kRank) {
    auto courses = CoursesOf(contract_, {}, 0, audit_, Seed::FromNumber(9));
    EXPECT_TRUE(courses.ok()) << courses.error().message;
    courses_ = std::move(courses).value();
    return courses_[0].runner->Run(0, arms, {.threads = 1, .depth = depth, .limits = UnitLimits::OfThisMachine()});
  }

  static inline const Contract contract_ = TimedToy();
  static inline TemporaryFolder* folder_ = nullptr;
  FullAudit audit_;
  std::vector<Course> courses_;
};

Arm Of(const Artifact& artifact) { return {.name = artifact.name, .artifact = &artifact, .planted_name = {}}; }

TEST_F(LiveClock, AGroupGivesEachArmItsUnitsAndAuditsEveryCall) {
  const Artifact a = Build(CountingKernel(kFast), "a"), b = Build(CountingKernel(kFast + 1), "b");
  Arm planted = Of(b);
  planted.plant = 0.03;
  planted.planted_name = "b + 3 %";
  auto group = RunGroup({Of(a), planted});
  ASSERT_TRUE(group.ok()) << group.error().message;
  EXPECT_TRUE(group.value().rejected.empty()) << group.value().rejected[0].second.evidence;

  std::map<std::string, int> shared, gated;
  int calls = 0;
  int64_t cpu_ns = 0;
  for (const RawUnit& unit : group.value().units) {
    ++(unit.gated ? gated : shared)[unit.arm];
    calls += unit.calls;
    cpu_ns += unit.cpu_ns;
    EXPECT_GT(unit.wall_ns, 0);
    EXPECT_GT(unit.null_ns, 0);
    EXPECT_EQ(unit.workload, "small");
    EXPECT_TRUE(!unit.gated || unit.calls == 1);
  }
  EXPECT_GT(cpu_ns, 0);
  EXPECT_EQ(shared["a"], 6);
  EXPECT_EQ(shared["b"], 6);
  EXPECT_EQ(shared["b + 3 %"], 6);
  EXPECT_EQ(gated["a"], gated["b"]);
  EXPECT_EQ(gated["b + 3 %"], gated["b"]);  // else its figure would be of another kind than the plain arm's
  // Besides the units that count: pacing and warming up.
  EXPECT_GT(audit_.audited, calls);
  // All arms compute the same numbers, and no process sees a content twice: two arms and the
  // planted turns of one, which take their share of each draw.
  for (const auto& [content, times] : audit_.seen) EXPECT_LE(times, 3);
}

TEST_F(LiveClock, AMachineThatRanSlowerSpoilsTheGroupWhateverTheArmsDid) {
  const Artifact a = Build(CountingKernel(kFast), "a"), b = Build(CountingKernel(kFast + 1), "b");
  auto courses = CoursesOf(contract_, {}, 0, audit_, Seed::FromNumber(9));
  ASSERT_TRUE(courses.ok()) << courses.error().message;
  double seconds = 20e-6;
  int probed = 0;
  // All processors, so that each group knows how they were in the one before.
  GroupOptions options{.threads = static_cast<int>(AllowedProcessors().size()),
                       .depth = Depth::kRank,
                       .limits = UnitLimits::OfThisMachine()};
  options.prober = [&](const std::vector<int>& processors) {
    ++probed;
    return std::vector<ProbeTimes>(processors.size(), {seconds, seconds});
  };
  // Both, so that each round has one: whom a busy machine makes look slow gets few units.
  std::vector<Arm> arms = {Of(a), Of(b)};
  for (Arm& arm : arms) arm.trusted = true;
  const auto play = [&](int group, const std::vector<Arm>& with) {
    auto result = courses.value()[0].runner->Run(group, with, options);
    ASSAY_CHECK(result.ok());
    return std::move(result).value();
  };
  int group = 0;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(play(group++, arms).slowed, 0);
  const int rounds = probed / group;
  EXPECT_GE(rounds, 6) << "one a round";
  seconds = 22e-6;
  const GroupResult slow = play(group++, arms);
  EXPECT_NEAR(slow.disturbance.slowed, 0.1, 1e-9);
  EXPECT_TRUE(slow.disturbed);
  EXPECT_NE(slow.why_disturbed.find("10.0 % longer than usual"), std::string::npos) << slow.why_disturbed;

  // Without a trusted arm nothing is probed: a candidate could cause it.
  probed = 0;
  EXPECT_FALSE(play(group++, {Of(a), Of(b)}).slowed);
  EXPECT_EQ(probed, 0);
}

TEST_F(LiveClock, EveryArmsFailureIsItsOwn) {
  const Artifact honest = Build(CountingKernel(kFast), "honest");
  const struct {
    const char* name;
    std::string source;
    Reason reason;
  } cases[] = {
      {"crashes", ToyKernel("*(volatile int*)16 = 1;"), Reason::kCrash},
      {"wrong by one", ToyKernel("bias += 1;"), Reason::kAuditMismatch},
      {"writes past its end", ToyKernel("y[T * ldy] = 0;"), Reason::kWroteOutside},
      // A call of the unit that computes beyond its own slot meets the decoy or another's poison.
      {"writes a slot that it was not given",
       ToyKernel("for (long i = 0; i < 3 * T * ldy; ++i) y[i] = x[i % (T * N)];"), Reason::kWroteOutside},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Artifact bad = Build(c.source, "bad");
    auto group = RunGroup({Of(honest), Of(bad)});
    ASSERT_TRUE(group.ok()) << group.error().message;
    ASSERT_EQ(group.value().rejected.size(), 1U);
    EXPECT_EQ(group.value().rejected[0].first, "bad");
    const Reason reason = group.value().rejected[0].second.reason;
    const bool as_expected = reason == c.reason || (c.reason == Reason::kWroteOutside && reason == Reason::kCrash);
    EXPECT_TRUE(as_expected) << Name(reason) << ": " << group.value().rejected[0].second.evidence;
    EXPECT_EQ(std::count_if(group.value().units.begin(), group.value().units.end(),
                            [](const RawUnit& u) { return u.arm == "honest" && !u.gated; }),
              6);
  }
}

TEST_F(LiveClock, AnEstimateDropsWhatIsFarBehindTheIncumbent) {
  KernelTimer timer(audit_, Options());
  const Artifact fast = Build(CountingKernel(kFast), "fast"), slow = Build(CountingKernel(kSlow), "slow");
  timer.SetWitness(TrustForTest::MakeVerified(Build(CountingKernel(kSlow + 1), "witness")));
  const Verified incumbent = TrustForTest::MakeVerified(fast);
  auto outcome = timer.Estimate(contract_, TrustForTest::MakeScreened(slow), &incumbent);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  const auto* estimates = std::get_if<Estimates>(&outcome.value());
  ASSERT_NE(estimates, nullptr) << std::get<Rejected>(outcome.value()).evidence;
  ASSERT_EQ(estimates->workloads.size(), 1U);
  EXPECT_TRUE(estimates->workloads[0].dropped);
  EXPECT_GT(estimates->workloads[0].seconds, 0);

  // Against the witness alone nothing is dropped.
  outcome = timer.Estimate(contract_, TrustForTest::MakeScreened(slow), nullptr);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Estimates>(outcome.value()));
  EXPECT_FALSE(std::get<Estimates>(outcome.value()).workloads[0].dropped);
}

TEST_F(LiveClock, ARankingOrdersAndRevokes) {
  KernelTimer timer(audit_, Options());
  const std::vector<Verified> all = {TrustForTest::MakeVerified(Build(CountingKernel(4 * kFast), "slow")),
                                     TrustForTest::MakeVerified(Build(CountingKernel(kFast), "fast")),
                                     TrustForTest::MakeVerified(Build(ToyKernel("bias = 0;"), "wrong"))};
  auto ranking = timer.Rank(contract_, all);
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  for (const auto& [id, why] : ranking.value().rejected) EXPECT_EQ(why.reason, Reason::kAuditMismatch) << why.evidence;
  ASSERT_EQ(ranking.value().rejected.size(), 1U);
  EXPECT_EQ(ranking.value().rejected[0].first, all[2].artifact().id);
  ASSERT_EQ(ranking.value().order.size(), 2U);
  EXPECT_EQ(ranking.value().order[0].artifact, all[1].artifact().id);
  EXPECT_TRUE(ranking.value().order[1].stopped_early);
}

TEST_F(LiveClock, ADecisionKeepsWhatRecomputesIt) {
  TimerOptions options = Options();
  options.most_groups = 14;
  KernelTimer timer(audit_, options);
  const Verified reference = TrustForTest::MakeVerified(Build(CountingKernel(4 * kFast), "plain"));
  timer.SetWitness(reference);
  auto outcome =
      timer.Decide(contract_, TrustForTest::MakeExamined(Build(CountingKernel(kFast), "winner")), {&reference, 1}, 0);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  const auto* report = std::get_if<DecisionReport>(&outcome.value());
  ASSERT_NE(report, nullptr) << std::get<Rejected>(outcome.value()).evidence;
  ASSERT_EQ(report->decisions.size(), 1U);
  const Decision& decision = report->decisions[0];
  EXPECT_EQ(decision.against, "plain");
  EXPECT_NE(decision.kind, DecisionKind::kSlower);
  const Evidence again = DecideFromUnits(report->units, report->design);
  EXPECT_EQ(again.decisions.at(0).kind, decision.kind);
  EXPECT_EQ(again.decisions.at(0).low, decision.low);
  EXPECT_EQ(again.decisions.at(0).high, decision.high);
  if (decision.kind == DecisionKind::kUndecided)
    GTEST_SKIP() << "SKIPPED: this machine cannot decide now: " << decision.note;
  EXPECT_EQ(decision.kind, DecisionKind::kFaster);
  EXPECT_TRUE(report->control_found || decision.margin > std::log1p(0.03));
}

TEST_F(LiveClock, TheWinnersOwnFailureEndsTheDecision) {
  KernelTimer timer(audit_, Options());
  const Verified reference = TrustForTest::MakeVerified(Build(CountingKernel(kFast), "plain"));
  timer.SetWitness(reference);
  auto outcome = timer.Bench(contract_, TrustForTest::MakeVerified(Build(ToyKernel("bias = 0;"), "wrong")), reference);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Rejected>(outcome.value().outcome));
  EXPECT_EQ(outcome.value().rejected_arm, "wrong");
  EXPECT_EQ(std::get<Rejected>(outcome.value().outcome).reason, Reason::kAuditMismatch);
}

TEST_F(LiveClock, SomebodyElsesLeaseIsWaitedForAndThenAnError) {
  TimerOptions options = Options();
  options.lease_patience = std::chrono::milliseconds(0);
  KernelTimer timer(audit_, options);
  auto lease = MachineLease::AcquireAt(*options.lease_file, std::chrono::milliseconds(0));
  ASSERT_TRUE(lease.ok());
  const std::vector<Verified> none;
  auto ranking = timer.Rank(contract_, none);
  ASSERT_FALSE(ranking.ok());
  EXPECT_EQ(ranking.error().code, ErrorCode::kUnavailable);
}

TEST_F(LiveClock, UnknownWorkloadsAreBadInput) {
  TimerOptions options = Options();
  options.workloads = {"smal"};
  KernelTimer timer(audit_, options);
  auto rates = timer.Rates(contract_);
  ASSERT_FALSE(rates.ok());
  EXPECT_EQ(rates.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(rates.error().message.find("did you mean \"small\""), std::string::npos) << rates.error().message;
}

}  // namespace
}  // namespace assay
