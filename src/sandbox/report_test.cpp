// SPDX-License-Identifier: Apache-2.0
// What the supervisor makes of a report that its writer made up; tests/fuzz/ring.cpp does the same with any bytes.
#include "sandbox/report.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <memory>

namespace assay {
namespace {

class Reporting : public testing::Test {
 protected:
  std::unique_ptr<ring::Report> report_ = std::make_unique<ring::Report>();
};

TEST_F(Reporting, AStageThatNoRunnerEndsWithIsNotReady) {
  for (const ring::Stage stage : {ring::Stage::kReady, ring::Stage::kSymbolFailed, ring::Stage::kBroken}) {
    report_->stage = stage;
    EXPECT_EQ(ReadStart(*report_).stage, stage);
  }
  for (const uint32_t stage : {0U, 1U, 77U, 0xffffffffU}) {
    std::memcpy(&report_->stage, &stage, sizeof(stage));
    EXPECT_EQ(ReadStart(*report_).stage, ring::Stage::kOpenFailed) << stage;
  }
}

TEST_F(Reporting, TextEndsWithItsRoom) {
  report_->stage = ring::Stage::kOpenFailed;
  std::memset(report_->text, 'a', sizeof(report_->text));
  EXPECT_EQ(ReadStart(*report_).text.size(), sizeof(report_->text));
  report_->text[3] = '\0';
  EXPECT_EQ(ReadStart(*report_).text, "aaa");
}

TEST_F(Reporting, NumbersAreBroughtWithinTheUnit) {
  report_->calls_begun = 0xfffffffe;
  report_->inspected = 0xffffffff;
  report_->state = {ring::kMxcsrChanged, 0x9f80, 0x37f, 0xffffffff};
  const Completed completed = ReadCompleted(*report_, 2, {.wall_ns = 5, .cpu_ns = 6, .wakes = 1});
  EXPECT_EQ(completed.timing.wall_ns, 5) << "no word of the report is a time";
  EXPECT_EQ(completed.integer_results.size(), 2U);
  EXPECT_FALSE(completed.state.clean());
  EXPECT_EQ(completed.state.first_call, 1) << "of two calls";
  EXPECT_LT(CallUnderWay(*report_), static_cast<int>(ring::kCalls));
  // The entries of a team of two are looked at, whatever number of them the report claims.
  for (ring::ThreadState& thread : report_->team) thread = {0x1f80, 0x37f, 0xffff, 0, 0};
  MachineState team;
  JudgeTeam(*report_, 2, team);
  EXPECT_TRUE(team.clean());
  report_->team[2].mxcsr = 0x9f80;
  JudgeTeam(*report_, 2, team);
  EXPECT_TRUE(team.clean());
  JudgeTeam(*report_, 3, team);
  EXPECT_FALSE(team.clean());
  EXPECT_EQ(team.thread, 2);
}

TEST_F(Reporting, HowAProcessEndedIsTheKernelsToSay) {
  report_->fault.signal = SIGSEGV;
  report_->fault.address = 0x110000200000 + 64 + 1000;
  report_->fault.write = 1;
  const BufferSpec spec{.name = "y", .bytes = 1000, .access = Access::kOutput, .slots = 1};
  const PlacedBuffer placed[] = {{&spec, 0x110000200000, 4096, 64}};
  const Ended fault = ReadEnding(*report_, {CLD_KILLED, SIGSEGV}, std::nullopt, 1 << 20, placed);
  ASSERT_TRUE(fault.place.has_value());
  EXPECT_EQ(fault.place->offset, 1000);
  EXPECT_NE(fault.evidence.find("a store to 0 bytes behind the end of y[slot 0]"), std::string::npos) << fault.evidence;
  // A fault that was noted for another end is not this one's.
  const Ended aborted = ReadEnding(*report_, {CLD_KILLED, SIGABRT}, std::nullopt, 1 << 20, placed);
  EXPECT_FALSE(aborted.place.has_value());
  EXPECT_EQ(aborted.outcome, Outcome(Signaled{SIGABRT, std::nullopt}));
  EXPECT_EQ(ReadEnding(*report_, {CLD_EXITED, 3}, std::nullopt, 1 << 20, placed).outcome, Outcome(Exited{3}));
  const jail::RefusalReport refusal{jail::Refusal::kCall, 0xc000003e, 41, {}};
  const Ended refused = ReadEnding(*report_, {CLD_KILLED, SIGSEGV}, refusal, 1 << 20, placed);
  ASSERT_TRUE(std::holds_alternative<ForbiddenCall>(refused.outcome));
  EXPECT_EQ(std::get<ForbiddenCall>(refused.outcome).number, 41);
}

}  // namespace
}  // namespace assay
