// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/trust_for_test.h"

namespace assay {
namespace {

Attempt AttemptNumber(int64_t ordinal, OutcomeKind outcome, Trust trust) {
  Attempt attempt;
  attempt.ordinal = ordinal;
  attempt.proposal.candidate.template_name = "t";
  attempt.proposal.candidate.source = "source " + std::to_string(ordinal);
  attempt.proposal.candidate.knobs = {{"MR", "4"}};
  attempt.proposal.candidate = NamedByContent(attempt.proposal.candidate);
  attempt.outcome = outcome;
  attempt.trust = trust;
  attempt.checks = {{"smoke", 3, 0.01}};
  if (outcome == OutcomeKind::kRejected)
    attempt.rejected = Rejected{Stage::kScreen, Reason::kWrongAnswer, "smoke", "element 3: got 1, expected 2", {}};
  return attempt;
}

Campaign Head(const std::string& id) {
  Campaign campaign;
  campaign.id = id;
  campaign.contract = "toy";
  campaign.contract_hash = Sha256("toy");
  campaign.seed = 3;
  campaign.budget.attempts = 22;
  return campaign;
}

class LedgerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryFolder::Create("assay-ledger-");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<TemporaryFolder>(std::move(folder).value());
    ledger_ = Reopen();
    ASSERT_TRUE(ledger_->Begin(Head("c1")).ok());
  }
  std::unique_ptr<SqliteLedger> Reopen() {
    ledger_.reset();
    auto ledger = SqliteLedger::Open(folder_->path() / ".assay");
    EXPECT_TRUE(ledger.ok()) << (ledger.ok() ? "" : ledger.error().message);
    return std::move(ledger).value();
  }
  Database Raw() { return std::move(Database::Open(folder_->path() / ".assay/ledger.db")).value(); }

  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<SqliteLedger> ledger_;
};

const RawUnit kUnit{0, "challenger", "w", 1, 1000, 10, 900, false, false, false};

TEST_F(LedgerTest, WhatWasWrittenComesBack) {
  ASSERT_TRUE(ledger_->Append("c1", AttemptNumber(1, OutcomeKind::kRejected, Trust::kNone), {}).ok());
  Attempt second = AttemptNumber(2, OutcomeKind::kUndecided, Trust::kScreened);
  second.estimates = {{"w", 0.5, 1.25, 1, 0.75, false}};
  ASSERT_TRUE(ledger_->Append("c1", second, {&kUnit, 1}).ok());
  second.outcome = OutcomeKind::kVerified;
  second.trust = Trust::kVerified;
  const Attempt* revised[] = {&second};
  ASSERT_TRUE(ledger_->AppendRanking("c1", 0, Ranking{{{"a", 0.5, 2, false}}, {}, {}, 1.5}, revised).ok());
  ledger_ = Reopen();
  const auto campaign = ledger_->Load("");
  ASSERT_TRUE(campaign.ok()) << campaign.error().message;
  ASSERT_EQ(campaign.value().attempts.size(), 2U);
  const Attempt& first = campaign.value().attempts[0];
  EXPECT_EQ(first.proposal.candidate.source, "source 1");
  EXPECT_EQ(first.rejected->evidence, "element 3: got 1, expected 2");
  EXPECT_EQ(campaign.value().attempts[1].trust, Trust::kVerified);
  EXPECT_EQ(campaign.value().attempts[1].estimates[0].ratio, 1.25);
  EXPECT_EQ(campaign.value().seed, 3U);
  EXPECT_EQ(ledger_->LoadRevisions("c1").value().at(2).size(), 2U);
  EXPECT_EQ(ledger_->LoadRankings("c1").value().at(0).order[0].artifact, "a");
  EXPECT_EQ(ledger_->LoadUnits("c1", 2).value().at("screened").size(), 1U);
}

TEST_F(LedgerTest, ATimingNeedsTrust) {
  const struct {
    const char* name;
    OutcomeKind outcome;
    Trust trust;
    bool stored;
  } cases[] = {
      {"rejected", OutcomeKind::kRejected, Trust::kNone, false},
      {"rejected after it was screened", OutcomeKind::kRejected, Trust::kScreened, false},
      {"failed by us", OutcomeKind::kFailed, Trust::kScreened, false},
      {"no trust", OutcomeKind::kUndecided, Trust::kNone, false},
      {"screened", OutcomeKind::kUndecided, Trust::kScreened, true},
      {"verified", OutcomeKind::kVerified, Trust::kVerified, true},
  };
  int64_t ordinal = 10;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    // An earlier revision that was screened must not lend its trust to a later refusal.
    ASSERT_TRUE(ledger_->Append("c1", AttemptNumber(ordinal, OutcomeKind::kUndecided, Trust::kScreened), {}).ok());
    EXPECT_EQ(ledger_->Append("c1", AttemptNumber(ordinal, c.outcome, c.trust), {&kUnit, 1}).ok(), c.stored);
    // Refused as a whole: no row without its units.
    EXPECT_EQ(ledger_->LoadRevisions("c1").value().at(ordinal).size(), c.stored ? 2U : 1U);
    ++ordinal;
  }
}

TEST_F(LedgerTest, RowsCanOnlyBeAdded) {
  ASSERT_TRUE(ledger_->Append("c1", AttemptNumber(1, OutcomeKind::kUndecided, Trust::kScreened), {&kUnit, 1}).ok());
  Database raw = Raw();
  for (const char* sql :
       {"UPDATE events SET body = '{}'", "DELETE FROM events", "UPDATE trusts SET level = 'examined'",
        "DELETE FROM units", "UPDATE campaigns SET contract = 'x'", "UPDATE format SET version = 2"}) {
    SCOPED_TRACE(sql);
    const Status status = raw.Execute(sql);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("append only"), std::string::npos);
  }
}

TEST_F(LedgerTest, TheChainShowsWhatWasChangedBehindItsBack) {
  for (int64_t i = 1; i <= 3; ++i)
    ASSERT_TRUE(ledger_->Append("c1", AttemptNumber(i, OutcomeKind::kRejected, Trust::kNone), {}).ok());
  EXPECT_EQ(ledger_->CheckChain().value(), 3);
  Database raw = Raw();
  ASSERT_TRUE(raw.Execute("DROP TRIGGER no_UPDATE_events; UPDATE events SET body = replace(body, 'rejected', "
                          "'verified') WHERE sequence = 2")
                  .ok());
  const auto checked = ledger_->CheckChain();
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("event 2"), std::string::npos);
}

TEST_F(LedgerTest, ARetractionIsARowThatStays) {
  Recheck recheck;
  recheck.campaign = "c1";
  recheck.attempt = 3;
  recheck.versions = {{"gate", "2"}};
  recheck.checks = {{"smoke", 1, 0.01}};
  ASSERT_TRUE(ledger_->AppendRecheck(recheck).ok());
  EXPECT_FALSE(ledger_->Campaigns().value().at(0).retracted);
  recheck.rejected = Rejected{Stage::kExam, Reason::kWrongAnswer, "hidden shapes", "off by one", {}};
  ASSERT_TRUE(ledger_->AppendRecheck(recheck).ok());
  ledger_ = Reopen();
  EXPECT_TRUE(ledger_->Campaigns().value().at(0).retracted);
  const Campaign campaign = ledger_->Load("c1").value();
  ASSERT_EQ(campaign.rechecks.size(), 2U);
  EXPECT_FALSE(campaign.rechecks[0].rejected);
  EXPECT_EQ(campaign.rechecks[0].checks.at(0).name, "smoke");
  EXPECT_EQ(campaign.Retraction()->rejected->evidence, "off by one");
  EXPECT_EQ(campaign.Retraction()->when.size(), std::string("2026-01-01T00:00:00Z").size());
  EXPECT_FALSE(Raw().Execute("DELETE FROM rechecks").ok());
  EXPECT_EQ(ledger_->CheckChain().value(), 2);
  ASSERT_TRUE(Raw().Execute("DROP TRIGGER no_UPDATE_rechecks; UPDATE rechecks SET outcome = 'stands'").ok());
  EXPECT_NE(ledger_->CheckChain().error().message.find("event 2"), std::string::npos);
}

TEST_F(LedgerTest, ARecheckOfNoCampaignIsRefused) {
  Recheck recheck;
  recheck.campaign = "never";
  EXPECT_FALSE(ledger_->AppendRecheck(recheck).ok());
}

TEST_F(LedgerTest, AFileOfAnotherFormatIsRefused) {
  Database raw = Raw();
  ASSERT_TRUE(raw.Execute("DROP TRIGGER no_UPDATE_format; UPDATE format SET version = 99").ok());
  ledger_.reset();
  const auto again = SqliteLedger::Open(folder_->path() / ".assay");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kCorrupt);
}

TEST_F(LedgerTest, AdmissionsAreFoundByContractAndGate) {
  Admission admission{true, {{"null zeros", false, 12.5, "normal(0, 1)", true}}, {}, 12.5, 0.2, 1, "gate 1"};
  ASSERT_TRUE(ledger_->AppendAdmission("hash", admission).ok());
  ASSERT_TRUE(ledger_->FindAdmission("hash", "gate 1").value().has_value());
  EXPECT_EQ(ledger_->FindAdmission("hash", "gate 1").value()->cases[0].worst_over_limit, 12.5);
  EXPECT_FALSE(ledger_->FindAdmission("hash", "gate 2").value().has_value());
  EXPECT_FALSE(ledger_->FindAdmission("other", "gate 1").value().has_value());
}

TEST_F(LedgerTest, ObjectsAreWhatTheirNameSays) {
  const ObjectStore store(folder_->path() / "objects");
  const Digest name = store.Put("some bytes").value();
  EXPECT_EQ(store.Get(name).value(), "some bytes");
  const auto path = folder_->path() / "objects" / name.substr(0, 2) / (name.substr(2) + ".zst");
  ASSERT_TRUE(WriteFileAtomically(path, Compress("other bytes").value()).ok());
  EXPECT_EQ(store.Get(name).error().code, ErrorCode::kCorrupt);
  ASSERT_TRUE(WriteFileAtomically(path, "no frame").ok());
  EXPECT_EQ(store.Get(name).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(store.Get(Sha256("never stored")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store.Get("../../etc/passwd").error().code, ErrorCode::kInvalidInput);
}

TEST_F(LedgerTest, TwoWritersTakeTurns) {
  auto other = SqliteLedger::Open(folder_->path() / ".assay");
  ASSERT_TRUE(other.ok());
  for (int64_t i = 1; i <= 4; ++i) {
    SqliteLedger& writer = i % 2 == 0 ? *ledger_ : *other.value();
    ASSERT_TRUE(writer.Append("c1", AttemptNumber(i, OutcomeKind::kRejected, Trust::kNone), {}).ok());
  }
  EXPECT_EQ(ledger_->CheckChain().value(), 4);
}

}  // namespace
}  // namespace assay
