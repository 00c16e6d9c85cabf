// SPDX-License-Identifier: Apache-2.0
//
// Whole campaigns over fakes: which stage a fate ends in, and that a campaign killed at any row goes
// on to the same end as one that was not.
#include "engine/campaign.h"

#include <gtest/gtest.h>

#include "record/json.h"
#include "support/fake_tools.h"

namespace assay {
namespace {

// Keeps rows in memory; dies (as a kill would) before the row number `dies_at` is written.
class MemoryLedger : public Ledger {
 public:
  int dies_at = -1;
  int rows = 0;
  Recorded recorded;
  bool ended = false;
  std::vector<std::string> units_of_rejected;

  Status Begin(const Campaign&) override { return Row(); }
  Status Append(const std::string&, const Attempt& attempt, std::span<const RawUnit> units) override {
    ASSAY_TRY_STATUS(Row());
    if (attempt.outcome == OutcomeKind::kRejected && !units.empty())
      units_of_rejected.push_back(attempt.proposal.candidate.id);
    return Store(attempt);
  }
  Status AppendReference(const std::string&, const ReferenceRecord& reference) override {
    ASSAY_TRY_STATUS(Row());
    recorded.references.push_back(reference);
    return Ok();
  }
  Status AppendRanking(const std::string&, int round, const Ranking& ranking,
                       std::span<const Attempt* const> revised) override {
    ASSAY_TRY_STATUS(Row());
    for (const Attempt* attempt : revised) ASSAY_TRY_STATUS(Store(*attempt));
    EXPECT_TRUE(recorded.rankings.emplace(round, ranking).second) << "round " << round << " ranked twice";
    return Ok();
  }
  Status AppendDecision(const std::string&, const Attempt& winner, const DecisionReport& report) override {
    ASSAY_TRY_STATUS(Row());
    EXPECT_FALSE(recorded.decision.has_value());
    recorded.decision = report;
    return Store(winner);
  }
  Status End(const Campaign&) override {
    ASSAY_TRY_STATUS(Row());
    ended = true;
    return Ok();
  }
  Result<std::optional<Admission>> FindAdmission(const Digest&, std::string_view) override {
    return std::optional<Admission>();
  }
  Status AppendAdmission(const Digest&, const Admission&) override { return Ok(); }
  Result<Digest> StoreObject(std::string_view bytes) override { return Sha256(bytes); }

 private:
  Status Row() {
    if (rows++ == dies_at) return Error{ErrorCode::kIo, "killed"};
    return Ok();
  }
  // Through JSON, as the durable ledger would; only the source is kept elsewhere.
  Status Store(const Attempt& attempt) {
    ASSAY_TRY(Attempt stored, ParseAttempt(AttemptJson(attempt)));
    stored.proposal.candidate.source = attempt.proposal.candidate.source;
    recorded.revisions[attempt.ordinal].push_back(stored);
    return Ok();
  }
};

struct Row {
  const char* speed;
  const char* fate;
  const char* twin;
};

// Proposes its table in order; from the fourth on, only while the incumbent is what it was when this
// table was first played, so that a resumed campaign with another history would be noticed.
class TableProposer : public Proposer {
 public:
  explicit TableProposer(std::vector<Row> rows) : rows_(std::move(rows)) {}
  std::string name() const override { return "table"; }
  Result<std::vector<Proposal>> Propose(const Standing& standing, int count) override {
    std::vector<Proposal> proposals;
    for (size_t i = standing.attempts->size(); i < rows_.size() && static_cast<int>(proposals.size()) < count; ++i) {
      Candidate candidate;
      candidate.template_name = "table";
      candidate.source = "source";
      candidate.knobs = {{"SPEED", rows_[i].speed},
                         {"FATE", rows_[i].fate},
                         {"ROW", std::to_string(i)},
                         {"PARENT", std::to_string(standing.incumbent.value_or(0))}};
      if (*rows_[i].twin != '\0') candidate.knobs["TWIN"] = rows_[i].twin;
      Proposal proposal;
      proposal.candidate = NamedByContent(candidate);
      proposal.proposer = "table";
      if (standing.incumbent) proposal.parents = {*standing.incumbent};
      proposals.push_back(proposal);
    }
    return proposals;
  }

 private:
  std::vector<Row> rows_;
};

Contract ToyContract() {
  Contract contract;
  contract.name = "toy";
  contract.references.push_back({"strict", ReferenceKind::kBaseline, "baseline.cpp", {"-O3"}, {}, {}, "", ""});
  contract.references.push_back({"relaxed", ReferenceKind::kBaseline, "baseline.cpp", {"-Ofast"}, {}, {}, "", ""});
  return contract;
}

struct Played {
  Campaign campaign;
  FakeWorld world;
  Status status = Ok();
};

Control ControlOf(const char* fate, bool must_pass) {
  Control control;
  control.name = std::string(fate) + ".cpp";
  control.must_pass = must_pass;
  control.candidate.source = fate;
  control.candidate.knobs = {{"FATE", fate}, {"SPEED", "1"}};
  control.candidate = NamedByContent(control.candidate);
  return control;
}

Played Play(const std::vector<Row>& rows, MemoryLedger& ledger, const Recorded& recorded, int budget,
            const CampaignOptions& options = {}, double seconds = 0, bool busy_machine = false) {
  Played played;
  played.campaign.id = "c";
  played.campaign.contract = "toy";
  played.campaign.budget.attempts = budget;
  played.campaign.budget.seconds = seconds;
  FakeBuilder builder(played.world);
  FakeInspector inspector;
  FakeGate gate(played.world);
  FakeTimer timer(played.world);
  CampaignHistory history;
  TableProposer proposer(rows);
  FakeClock clock;
  clock.busy_machine = busy_machine;
  QuietProgress progress;
  const std::atomic<bool> interrupted{false};
  const Tools tools{builder, inspector, gate, timer, history, ledger, proposer, clock, progress, interrupted};
  played.status = RunCampaign(ToyContract(), played.campaign, recorded, options, tools);
  return played;
}

const std::vector<Row> kRows = {
    {"5.0", "good", ""}, {"4.0", "no_build", ""}, {"3.0", "screen", ""},   {"6.0", "good", ""},
    {"3.0", "good", ""}, {"2.0", "verify", ""},   {"1.5", "audit", ""},    {"9.0", "good", ""},
    {"2.5", "exam", ""}, {"2.9", "good", "same"}, {"2.8", "good", "same"}, {"2.7", "good", ""},
    {"2.6", "good", ""},
};

TEST(Campaign, EveryFateEndsWhereItShould) {
  MemoryLedger ledger;
  const Played played = Play(kRows, ledger, {}, 12);
  ASSERT_TRUE(played.status.ok()) << played.status.error().message;
  const std::vector<Attempt>& a = played.campaign.attempts;
  ASSERT_EQ(a.size(), 13U);  // twelve of the budget and the duplicate, which costs nothing
  EXPECT_EQ(a[0].trust, Trust::kVerified);
  EXPECT_EQ(a[4].trust, Trust::kVerified);  // third by estimate: the two before it were refused
  EXPECT_EQ(a[1].rejected->reason, Reason::kBuildFailed);
  EXPECT_EQ(a[1].stage, Stage::kBuild);
  EXPECT_EQ(a[2].rejected->stage, Stage::kScreen);
  EXPECT_EQ(a[3].trust, Trust::kVerified);  // second best of its round
  EXPECT_EQ(a[5].rejected->reason, Reason::kNondeterministic);
  EXPECT_EQ(a[6].rejected->reason, Reason::kAuditMismatch);
  EXPECT_EQ(a[7].notes, std::vector<Note>{Note::kDropped});
  EXPECT_EQ(a[7].trust, Trust::kScreened);
  EXPECT_EQ(a[8].rejected->stage, Stage::kExam);
  EXPECT_EQ(a[10].duplicate_of, 10);
  EXPECT_EQ(played.campaign.budget.spent, 12);
  ASSERT_TRUE(played.campaign.incumbent.has_value());
  EXPECT_EQ(played.campaign.incumbent->attempt, 12);  // 9 was faster and fell in the exam
  EXPECT_TRUE(played.campaign.incumbent->examined);
  EXPECT_EQ(played.campaign.stopped.why, "budget");
  EXPECT_TRUE(ledger.ended);
  EXPECT_TRUE(ledger.units_of_rejected.empty());
}

TEST(Campaign, WaitingForOtherProgramsIsNobodysWork) {
  MemoryLedger ledger, of_busy;
  Played quiet = Play(kRows, ledger, {}, 12);
  const Played busy = Play(kRows, of_busy, {}, 12, {}, 0, true);
  ASSERT_TRUE(quiet.status.ok() && busy.status.ok());
  const double wall = busy.campaign.wall_seconds;
  EXPECT_GT(wall, 0.1);
  EXPECT_NEAR(busy.campaign.seconds_by_stage.at("waiting"), wall, 1e-9);
  for (const auto& [stage, seconds] : busy.campaign.seconds_by_stage)
    EXPECT_TRUE(stage == "waiting" || seconds == 0) << stage;
  EXPECT_FALSE(quiet.campaign.seconds_by_stage.contains("waiting"));
  EXPECT_GT(quiet.campaign.seconds_by_stage.at("screen"), 0);
}

TEST(Campaign, WhatDidNotPassIsNeverTimedRankedOrDecided) {
  MemoryLedger ledger;
  const Played played = Play(kRows, ledger, {}, 12);
  const auto asked = [&](const std::string& verb, size_t row) {
    return std::count(played.world.asked.begin(), played.world.asked.end(),
                      verb + " " + played.campaign.attempts[row].proposal.candidate.id);
  };
  EXPECT_EQ(asked("screen", 1), 0);
  EXPECT_EQ(asked("estimate", 2), 0);
  EXPECT_EQ(asked("rank", 5), 0);
  EXPECT_EQ(asked("exam", 6), 0);
  EXPECT_EQ(asked("decide", 8), 0);
  EXPECT_EQ(asked("screen", 10), 0);  // same code as an earlier one
  EXPECT_EQ(asked("decide", 11), 1);
}

TEST(Campaign, KilledAtAnyRowItEndsTheSame) {
  MemoryLedger whole;
  const Played expected = Play(kRows, whole, {}, 12);
  ASSERT_TRUE(expected.status.ok());
  for (int kill = 0; kill < whole.rows; ++kill) {
    SCOPED_TRACE("killed before row " + std::to_string(kill));
    MemoryLedger ledger;
    ledger.dies_at = kill;
    ASSERT_FALSE(Play(kRows, ledger, {}, 12).status.ok());
    ledger.dies_at = -1;
    const Recorded recorded = ledger.recorded;
    const Played resumed = Play(kRows, ledger, recorded, 12);
    ASSERT_TRUE(resumed.status.ok()) << resumed.status.error().message;
    ASSERT_EQ(resumed.campaign.attempts.size(), expected.campaign.attempts.size());
    for (size_t i = 0; i < expected.campaign.attempts.size(); ++i) {
      const Attempt &was = expected.campaign.attempts[i], &is = resumed.campaign.attempts[i];
      EXPECT_EQ(is.proposal.candidate.id, was.proposal.candidate.id);
      EXPECT_EQ(is.outcome, was.outcome) << "attempt " << i + 1;
      EXPECT_EQ(is.trust, was.trust) << "attempt " << i + 1;
      EXPECT_EQ(ledger.recorded.revisions[was.ordinal].size(), whole.recorded.revisions[was.ordinal].size())
          << "attempt " << i + 1;
    }
    EXPECT_EQ(resumed.campaign.incumbent->attempt, expected.campaign.incumbent->attempt);
    EXPECT_EQ(ledger.recorded.references.size(), 2U);
    EXPECT_TRUE(ledger.ended);
  }
}

TEST(Campaign, AnotherHistoryThanRecordedIsRefused) {
  MemoryLedger ledger;
  ledger.dies_at = 6;
  ASSERT_FALSE(Play(kRows, ledger, {}, 12).status.ok());
  ledger.dies_at = -1;
  std::vector<Row> changed = kRows;
  changed[0].speed = "5.5";
  const Played resumed = Play(changed, ledger, Recorded(ledger.recorded), 12);
  ASSERT_FALSE(resumed.status.ok());
  EXPECT_EQ(resumed.status.error().code, ErrorCode::kCorrupt);
}

TEST(Campaign, AGateThatFailsItsOwnControlProvesNothing) {
  const struct {
    const char* name;
    Control control;
    bool fails;
  } cases[] = {
      {"honest and verified", ControlOf("good", true), false},
      {"a fault, refused by the screen", ControlOf("screen", false), false},
      {"a fault, refused when verified", ControlOf("verify", false), false},
      {"honest and refused", ControlOf("verify", true), true},
      {"honest and not built", ControlOf("no_build", true), true},
      {"a fault and verified", ControlOf("good", false), true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    MemoryLedger ledger;
    CampaignOptions options;
    options.controls = {c.control};
    const Played played = Play(kRows, ledger, {}, 12, options);
    ASSERT_TRUE(played.status.ok()) << played.status.error().message;
    ASSERT_EQ(played.campaign.controls.size(), 1U);
    EXPECT_EQ(played.campaign.controls[0].AsExpected(), !c.fails);
    EXPECT_EQ(played.campaign.stopped.why == "control", c.fails);
    EXPECT_EQ(played.campaign.incumbent.has_value(), !c.fails);
    EXPECT_EQ(played.campaign.attempts.empty(), c.fails);
    // What a control costs is nobody's budget.
    EXPECT_EQ(played.campaign.budget.spent, c.fails ? 0 : 12);
    EXPECT_TRUE(ledger.ended);
  }
}

// The fake clock goes on by a millisecond with each look.
TEST(Campaign, ATimeBudgetKeepsThirtyPercentForExamAndDecision) {
  MemoryLedger ledger;
  const Played unlimited = Play(kRows, ledger, {}, 12);
  EXPECT_EQ(unlimited.world.most_seconds, 0);
  int ended_inside_a_round = 0;
  for (const double seconds : {0.05, 0.08, 0.1, 0.12, 0.15}) {
    SCOPED_TRACE(seconds);
    MemoryLedger limited;
    const Played played = Play(kRows, limited, {}, 12, {}, seconds);
    ASSERT_TRUE(played.status.ok()) << played.status.error().message;
    EXPECT_EQ(played.campaign.stopped.why, "time");
    const size_t attempts = played.campaign.attempts.size();
    EXPECT_LT(attempts, unlimited.campaign.attempts.size());
    EXPECT_GE(attempts, 1U);
    ended_inside_a_round += attempts % static_cast<size_t>(CampaignOptions().round_size) != 0 ? 1 : 0;
    ASSERT_TRUE(played.campaign.incumbent.has_value());
    EXPECT_GE(played.world.most_seconds, 0.1 * seconds);
    EXPECT_LE(played.world.most_seconds, 0.3 * seconds);
  }
  EXPECT_GT(ended_inside_a_round, 0);
}

TEST(Campaign, AResumedCampaignHasWhatIsLeftOfItsTime) {
  MemoryLedger ledger;
  ledger.dies_at = 9;
  ASSERT_FALSE(Play(kRows, ledger, {}, 12, {}, 100).status.ok());
  ledger.dies_at = -1;
  Recorded recorded = ledger.recorded;
  const size_t before = recorded.revisions.size();
  ASSERT_GE(before, 2U);
  recorded.revisions.begin()->second.back().seconds.measure = 80;
  const Played resumed = Play(kRows, ledger, recorded, 12, {}, 100);
  ASSERT_TRUE(resumed.status.ok()) << resumed.status.error().message;
  EXPECT_EQ(resumed.campaign.stopped.why, "time");
  EXPECT_EQ(resumed.campaign.attempts.size(), before);  // all that was recorded and nothing new
  EXPECT_LE(resumed.world.most_seconds, 20);
}

TEST(Campaign, EveryProposalRejectedLeavesNoIncumbent) {
  MemoryLedger ledger;
  const Played played = Play({{"1.0", "screen", ""}, {"2.0", "no_build", ""}}, ledger, {}, 5);
  ASSERT_TRUE(played.status.ok());
  EXPECT_FALSE(played.campaign.incumbent.has_value());
  EXPECT_EQ(played.campaign.stopped.why, "exhausted");
}

}  // namespace
}  // namespace assay
