// SPDX-License-Identifier: Apache-2.0
//
// The ledger's invariants; code and review cite them by number.
//  (1) Append only: triggers refuse every UPDATE and DELETE, whoever asks.
//  (2) One writer's transaction holds whole facts: an attempt's revision and its units, or nothing.
//  (3) `events` is a hash chain: each row's link covers its content and the link before it.  `rechecks`
//      is another of the same kind: a table of its own, so that older ledgers gain it as they are.
//  (4) A timing cannot exist without trust: `units` refers to (campaign, ordinal, revision, level) in
//      `trusts`, and a revision enters `trusts` only when the gate had passed it and nothing refused it.
//  (5) An attempt's state is its last revision:
//        none -> screened (RunAttempt) -> verified (Promote) -> examined (Crown), or rejected at any step.
//  (6) Failures are rows, never huge numbers; a number that is not finite is NULL.
//  (7) The file cannot be rebuilt, so an unknown format is refused, not started over.
#include "ledger/ledger.h"

#include "record/json.h"

namespace assay {
namespace {

constexpr int64_t kFormat = 1;

constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS format (version INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS campaigns (
  id TEXT PRIMARY KEY, contract TEXT NOT NULL, contract_hash TEXT NOT NULL, started TEXT NOT NULL, head TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS events (
  sequence INTEGER PRIMARY KEY, campaign TEXT NOT NULL REFERENCES campaigns(id), kind TEXT NOT NULL
    CHECK (kind IN ('attempt', 'reference', 'ranking', 'decision', 'end')),
  ordinal INTEGER NOT NULL, body TEXT NOT NULL, link TEXT NOT NULL UNIQUE) STRICT;
CREATE INDEX IF NOT EXISTS events_by_campaign ON events (campaign, kind, ordinal, sequence);
CREATE TABLE IF NOT EXISTS trusts (
  campaign TEXT NOT NULL, ordinal INTEGER NOT NULL, revision INTEGER NOT NULL,
  level TEXT NOT NULL CHECK (level IN ('screened', 'verified', 'examined')),
  outcome TEXT NOT NULL CHECK (outcome IN ('verified', 'undecided')), PRIMARY KEY (campaign, ordinal, revision, level)) STRICT;
CREATE TABLE IF NOT EXISTS units (
  campaign TEXT NOT NULL, ordinal INTEGER NOT NULL, revision INTEGER NOT NULL, level TEXT NOT NULL,
  count INTEGER NOT NULL, object TEXT NOT NULL,
  FOREIGN KEY (campaign, ordinal, revision, level) REFERENCES trusts (campaign, ordinal, revision, level)) STRICT;
CREATE TABLE IF NOT EXISTS admissions (
  contract_hash TEXT NOT NULL, gate_version TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (contract_hash, gate_version)) STRICT;
CREATE TABLE IF NOT EXISTS rechecks (
  sequence INTEGER PRIMARY KEY, campaign TEXT NOT NULL REFERENCES campaigns(id), ordinal INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('stands', 'retracted')), body TEXT NOT NULL, link TEXT NOT NULL UNIQUE) STRICT;
)sql";

std::string AppendOnlyTriggers() {
  std::string sql;
  for (const char* table : {"format", "campaigns", "events", "trusts", "units", "admissions", "rechecks"}) {
    for (const char* verb : {"UPDATE", "DELETE"}) {
      sql += std::string("CREATE TRIGGER IF NOT EXISTS no_") + verb + "_" + table + " BEFORE " + verb + " ON " + table +
             " BEGIN SELECT RAISE(ABORT, 'the ledger is append only'); END;\n";
    }
  }
  return sql;
}

const std::string& Text(const Database::Cell& cell) {
  ASSAY_CHECK(std::holds_alternative<std::string>(cell));
  return std::get<std::string>(cell);
}
int64_t Integer(const Database::Cell& cell) {
  ASSAY_CHECK(std::holds_alternative<int64_t>(cell));
  return std::get<int64_t>(cell);
}

Digest Link(const std::string& before, const std::string& campaign, std::string_view kind, int64_t ordinal,
            const std::string& body) {
  return RecordHash("event")
      .Add("before", before)
      .Add("campaign", campaign)
      .Add("kind", kind)
      .Add("ordinal", ordinal)
      .Add("body", body)
      .Finish();
}

}  // namespace

Result<std::unique_ptr<SqliteLedger>> SqliteLedger::Open(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + folder.string() + ": " + error.message()};
  ASSAY_TRY(Database database, Database::Open(folder / "ledger.db"));
  {
    // Two commands may meet a new workspace at once.
    ASSAY_TRY(Transaction transaction, Transaction::Begin(database));
    ASSAY_TRY_STATUS(database.Execute(kSchema));
    ASSAY_TRY(const auto rows, database.Query("SELECT version FROM format", {}));
    if (rows.empty()) ASSAY_TRY_STATUS(database.Run("INSERT INTO format VALUES (?)", {kFormat}));
    if (!rows.empty() && Integer(rows[0][0]) != kFormat) {
      return Error{ErrorCode::kCorrupt, (folder / "ledger.db").string() + ": format " +
                                            std::to_string(Integer(rows[0][0])) + ", this program reads " +
                                            std::to_string(kFormat) +
                                            "; use the program that wrote it, or another workspace"};
    }
    ASSAY_TRY_STATUS(database.Execute(AppendOnlyTriggers()));
    ASSAY_TRY_STATUS(transaction.Commit());
  }
  return std::unique_ptr<SqliteLedger>(new SqliteLedger(std::move(database), ObjectStore(folder / "objects")));
}

Status SqliteLedger::AppendEvent(const std::string& campaign, std::string_view kind, int64_t ordinal,
                                 const std::string& body) {
  ASSAY_TRY(const auto last, database_.Query("SELECT link FROM events ORDER BY sequence DESC LIMIT 1", {}));
  const std::string before = last.empty() ? "" : Text(last[0][0]);
  return database_.Run("INSERT INTO events (campaign, kind, ordinal, body, link) VALUES (?, ?, ?, ?, ?)",
                       {campaign, std::string(kind), ordinal, body, Link(before, campaign, kind, ordinal, body)});
}

Status SqliteLedger::Begin(const Campaign& campaign) {
  return database_.Run("INSERT INTO campaigns VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?)",
                       {campaign.id, campaign.contract, campaign.contract_hash, CampaignHeadJson(campaign)});
}

Result<int64_t> SqliteLedger::AppendRevision(const std::string& campaign, const Attempt& attempt) {
  ASSAY_TRY_STATUS(AppendEvent(campaign, "attempt", attempt.ordinal, AttemptJson(attempt)));
  ASSAY_TRY(const auto count,
            database_.Query("SELECT count(*) FROM events WHERE campaign = ? AND kind = 'attempt' AND ordinal = ?",
                            {campaign, attempt.ordinal}));
  const int64_t revision = Integer(count[0][0]);
  const bool trusted = attempt.trust != Trust::kNone && attempt.outcome != OutcomeKind::kRejected &&
                       attempt.outcome != OutcomeKind::kFailed;
  if (trusted) {
    ASSAY_TRY_STATUS(database_.Run(
        "INSERT INTO trusts VALUES (?, ?, ?, ?, ?)",
        {campaign, attempt.ordinal, revision, std::string(Name(attempt.trust)), std::string(Name(attempt.outcome))}));
  }
  return revision;
}

Status SqliteLedger::Append(const std::string& campaign, const Attempt& attempt, std::span<const RawUnit> units) {
  ASSAY_TRY(const Digest source, objects_.Put(attempt.proposal.candidate.source));
  ASSAY_CHECK(source == attempt.proposal.candidate.source_hash);
  std::optional<Digest> object;
  if (!units.empty()) {
    ASSAY_TRY(object, objects_.Put(UnitsJson(units)));
  }
  ASSAY_TRY(Transaction transaction, Transaction::Begin(database_));
  ASSAY_TRY(const int64_t revision, AppendRevision(campaign, attempt));
  // (4): for a rejected attempt the foreign key refuses, and with it the whole revision.
  if (object) {
    ASSAY_TRY_STATUS(database_.Run("INSERT INTO units VALUES (?, ?, ?, ?, ?, ?)",
                                   {campaign, attempt.ordinal, revision, std::string(Name(attempt.trust)),
                                    static_cast<int64_t>(units.size()), *object}));
  }
  return transaction.Commit();
}

Status SqliteLedger::AppendReference(const std::string& campaign, const ReferenceRecord& reference) {
  ASSAY_TRY(Transaction transaction, Transaction::Begin(database_));
  ASSAY_TRY_STATUS(AppendEvent(campaign, "reference", 0, ReferenceJson(reference)));
  return transaction.Commit();
}

Status SqliteLedger::AppendRanking(const std::string& campaign, int round, const Ranking& ranking,
                                   std::span<const Attempt* const> revised) {
  ASSAY_TRY(Transaction transaction, Transaction::Begin(database_));
  for (const Attempt* attempt : revised) {
    ASSAY_TRY(const int64_t revision, AppendRevision(campaign, *attempt));
    ASSAY_CHECK(revision > 1);
  }
  ASSAY_TRY_STATUS(AppendEvent(campaign, "ranking", round, RankingJson(ranking)));
  return transaction.Commit();
}

Status SqliteLedger::AppendDecision(const std::string& campaign, const Attempt& winner, const DecisionReport& report) {
  ASSAY_TRY(Transaction transaction, Transaction::Begin(database_));
  ASSAY_TRY(const int64_t revision, AppendRevision(campaign, winner));
  ASSAY_CHECK(revision > 1);
  ASSAY_TRY_STATUS(AppendEvent(campaign, "decision", winner.ordinal, DecisionReportJson(report)));
  return transaction.Commit();
}

Status SqliteLedger::End(const Campaign& campaign) {
  ASSAY_TRY(Transaction transaction, Transaction::Begin(database_));
  ASSAY_TRY_STATUS(AppendEvent(campaign.id, "end", 0, CampaignHeadJson(campaign)));
  return transaction.Commit();
}

Result<std::optional<Admission>> SqliteLedger::FindAdmission(const Digest& contract, std::string_view gate_version) {
  ASSAY_TRY(const auto rows, database_.Query("SELECT body FROM admissions WHERE contract_hash = ? AND gate_version = ?",
                                             {contract, std::string(gate_version)}));
  if (rows.empty()) return std::optional<Admission>();
  ASSAY_TRY(Admission admission, ParseAdmission(Text(rows[0][0])));
  return std::optional<Admission>(std::move(admission));
}

Status SqliteLedger::AppendAdmission(const Digest& contract, const Admission& admission) {
  return database_.Run("INSERT INTO admissions VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                       {contract, admission.gate_version, AdmissionJson(admission)});
}

Result<Digest> SqliteLedger::StoreObject(std::string_view bytes) { return objects_.Put(bytes); }

Status SqliteLedger::AppendRecheck(const Recheck& recheck) {
  ASSAY_TRY(Transaction transaction, Transaction::Begin(database_));
  ASSAY_TRY(const auto last, database_.Query("SELECT link, strftime('%Y-%m-%dT%H:%M:%SZ', 'now') FROM (SELECT link, "
                                             "sequence FROM rechecks UNION ALL SELECT '', 0) ORDER BY sequence DESC "
                                             "LIMIT 1",
                                             {}));
  Recheck stamped = recheck;
  stamped.when = Text(last[0][1]);
  const std::string body = RecheckJson(stamped), outcome = recheck.rejected ? "retracted" : "stands";
  ASSAY_TRY_STATUS(database_.Run("INSERT INTO rechecks (campaign, ordinal, outcome, body, link) VALUES (?, ?, ?, ?, ?)",
                                 {recheck.campaign, recheck.attempt, outcome, body,
                                  Link(Text(last[0][0]), recheck.campaign, outcome, recheck.attempt, body)}));
  return transaction.Commit();
}

Result<std::vector<Recheck>> SqliteLedger::LoadRechecks(const std::string& campaign) {
  ASSAY_TRY(const auto rows,
            database_.Query("SELECT body FROM rechecks WHERE campaign = ? ORDER BY sequence", {campaign}));
  std::vector<Recheck> rechecks;
  for (const auto& row : rows) {
    ASSAY_TRY(Recheck recheck, ParseRecheck(Text(row[0])));
    rechecks.push_back(std::move(recheck));
  }
  return rechecks;
}

Result<std::vector<CampaignLine>> SqliteLedger::Campaigns() {
  ASSAY_TRY(const auto rows, database_.Query("SELECT c.id, c.contract, c.started, (SELECT count(DISTINCT ordinal) FROM "
                                             "events e WHERE e.campaign = c.id AND kind = 'attempt'), "
                                             "(SELECT body FROM events e WHERE e.campaign = c.id AND kind = 'end' "
                                             "ORDER BY sequence DESC LIMIT 1), (SELECT outcome FROM rechecks r WHERE "
                                             "r.campaign = c.id ORDER BY sequence DESC LIMIT 1) FROM campaigns c "
                                             "ORDER BY c.rowid",
                                             {}));
  std::vector<CampaignLine> lines;
  for (const auto& row : rows) {
    CampaignLine line{Text(row[0]), Text(row[1]), Text(row[2]), static_cast<int>(Integer(row[3])), "", false};
    if (std::holds_alternative<std::string>(row[4])) {
      ASSAY_TRY(const Campaign head, ParseCampaignHead(Text(row[4])));
      line.stopped = head.stopped.why;
    }
    line.retracted = std::holds_alternative<std::string>(row[5]) && Text(row[5]) == "retracted";
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<Campaign> SqliteLedger::Load(const std::string& id) {
  ASSAY_TRY(const auto heads, id.empty()
                                  ? database_.Query("SELECT head, id FROM campaigns ORDER BY rowid DESC LIMIT 1", {})
                                  : database_.Query("SELECT head, id FROM campaigns WHERE id = ?", {id}));
  if (heads.empty())
    return Error{ErrorCode::kNotFound, id.empty() ? "no campaign in this workspace"
                                                  : "no campaign " + id + " in this workspace; see `assay ledger`"};
  ASSAY_TRY(Campaign campaign, ParseCampaignHead(Text(heads[0][0])));
  ASSAY_TRY(
      const auto events,
      database_.Query("SELECT kind, ordinal, body FROM events WHERE campaign = ? ORDER BY sequence", {campaign.id}));
  std::map<int64_t, Attempt> attempts;
  for (const auto& row : events) {
    const std::string& kind = Text(row[0]);
    const std::string& body = Text(row[2]);
    if (kind == "attempt") {
      ASSAY_TRY(Attempt attempt, ParseAttempt(body));
      ASSAY_TRY(attempt.proposal.candidate.source, objects_.Get(attempt.proposal.candidate.source_hash));
      attempts.insert_or_assign(attempt.ordinal, std::move(attempt));  // (5)
    } else if (kind == "reference") {
      ASSAY_TRY(ReferenceRecord reference, ParseReference(body));
      campaign.references.push_back(std::move(reference));
    } else if (kind == "decision") {
      ASSAY_TRY(campaign.decision, ParseDecisionReport(body));
    } else if (kind == "end") {
      ASSAY_TRY(const Campaign end, ParseCampaignHead(body));
      campaign.incumbent = end.incumbent;
      campaign.stopped = end.stopped;
      campaign.budget = end.budget;
      campaign.rates = end.rates;
      campaign.wall_seconds = end.wall_seconds;
      campaign.seconds_by_stage = end.seconds_by_stage;
    }
  }
  for (auto& [ordinal, attempt] : attempts) campaign.attempts.push_back(std::move(attempt));
  ASSAY_TRY(campaign.rechecks, LoadRechecks(campaign.id));
  return campaign;
}

Result<std::map<int, Ranking>> SqliteLedger::LoadRankings(const std::string& campaign) {
  ASSAY_TRY(
      const auto rows,
      database_.Query("SELECT ordinal, body FROM events WHERE campaign = ? AND kind = 'ranking' ORDER BY sequence",
                      {campaign}));
  std::map<int, Ranking> rankings;
  for (const auto& row : rows) {
    ASSAY_TRY(rankings[static_cast<int>(Integer(row[0]))], ParseRanking(Text(row[1])));
  }
  return rankings;
}

Result<std::map<int64_t, std::vector<Attempt>>> SqliteLedger::LoadRevisions(const std::string& campaign) {
  ASSAY_TRY(
      const auto rows,
      database_.Query("SELECT body FROM events WHERE campaign = ? AND kind = 'attempt' ORDER BY sequence", {campaign}));
  std::map<int64_t, std::vector<Attempt>> revisions;
  for (const auto& row : rows) {
    ASSAY_TRY(Attempt attempt, ParseAttempt(Text(row[0])));
    ASSAY_TRY(attempt.proposal.candidate.source, objects_.Get(attempt.proposal.candidate.source_hash));
    revisions[attempt.ordinal].push_back(std::move(attempt));
  }
  return revisions;
}

Result<std::map<std::string, std::vector<RawUnit>>> SqliteLedger::LoadUnits(const std::string& campaign,
                                                                            int64_t attempt) {
  ASSAY_TRY(const auto rows,
            database_.Query("SELECT level, object FROM units WHERE campaign = ? AND ordinal = ? ORDER BY rowid",
                            {campaign, attempt}));
  std::map<std::string, std::vector<RawUnit>> units;
  for (const auto& row : rows) {
    ASSAY_TRY(const std::string bytes, objects_.Get(Text(row[1])));
    ASSAY_TRY(const std::vector<RawUnit> some, ParseUnits(bytes));
    auto& all = units[Text(row[0])];
    all.insert(all.end(), some.begin(), some.end());
  }
  return units;
}

Result<int64_t> SqliteLedger::CheckChain() {
  int64_t checked = 0;
  for (const char* query :
       {"SELECT sequence, campaign, kind, ordinal, body, link FROM events ORDER BY sequence",
        "SELECT sequence, campaign, outcome, ordinal, body, link FROM rechecks ORDER BY sequence"}) {
    ASSAY_TRY(const auto rows, database_.Query(query, {}));
    std::string before;
    for (const auto& row : rows) {
      const Digest expected = Link(before, Text(row[1]), Text(row[2]), Integer(row[3]), Text(row[4]));
      if (expected != Text(row[5])) {
        return Error{ErrorCode::kCorrupt, "the ledger's chain breaks at event " + std::to_string(Integer(row[0])) +
                                              " (" + Text(row[2]) + " of campaign " + Text(row[1]) +
                                              "): it was changed after it was written"};
      }
      before = expected;
    }
    checked += static_cast<int64_t>(rows.size());
  }
  return checked;
}

}  // namespace assay
