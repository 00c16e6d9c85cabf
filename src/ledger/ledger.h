// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/database.h"
#include "ledger/objects.h"
#include "record/seams.h"

namespace assay {

// One line of `assay ledger`.
struct CampaignLine {
  std::string id, contract, started;
  int attempts = 0;
  std::string stopped;     // "" while it runs or after a kill
  bool retracted = false;  // its winner was refused when it was proved again
};

// The durable ledger: `.assay/ledger.db` and `.assay/objects/` of a workspace.
class SqliteLedger : public Ledger {
 public:
  // Makes the folder when it is missing; refuses a file of a newer format.
  static Result<std::unique_ptr<SqliteLedger>> Open(const std::filesystem::path& folder);

  Status Begin(const Campaign& campaign) override;
  Status Append(const std::string& campaign, const Attempt& attempt, std::span<const RawUnit> units) override;
  Status AppendReference(const std::string& campaign, const ReferenceRecord& reference) override;
  Status AppendRanking(const std::string& campaign, int round, const Ranking& ranking,
                       std::span<const Attempt* const> revised) override;
  Status AppendDecision(const std::string& campaign, const Attempt& winner, const DecisionReport& report) override;
  Status End(const Campaign& campaign) override;
  Result<std::optional<Admission>> FindAdmission(const Digest& contract, std::string_view gate_version) override;
  Status AppendAdmission(const Digest& contract, const Admission& admission) override;
  Result<Digest> StoreObject(std::string_view bytes) override;

  // A proof made again; the row says whether the claim stands or is retracted, and stays.
  Status AppendRecheck(const Recheck& recheck);

  Result<std::vector<CampaignLine>> Campaigns();
  // Everything of a campaign, sources included; kNotFound when there is none of that name ("" = the newest).
  Result<Campaign> Load(const std::string& id);
  Result<std::map<int, Ranking>> LoadRankings(const std::string& campaign);
  // Every revision of every attempt, oldest first, by ordinal; what a resumed campaign takes over.
  Result<std::map<int64_t, std::vector<Attempt>>> LoadRevisions(const std::string& campaign);
  Result<std::string> LoadObject(const Digest& name) const { return objects_.Get(name); }
  // Raw units of an attempt, by the level of trust under which they were taken.
  Result<std::map<std::string, std::vector<RawUnit>>> LoadUnits(const std::string& campaign, int64_t attempt);
  // Walks the hash chain.  The error names the first row that was tampered with.
  Result<int64_t> CheckChain();

 private:
  SqliteLedger(Database database, ObjectStore objects) : database_(std::move(database)), objects_(std::move(objects)) {}
  Result<std::vector<Recheck>> LoadRechecks(const std::string& campaign);
  // Inserts one event and links it to the one before; the caller holds the transaction.
  Status AppendEvent(const std::string& campaign, std::string_view kind, int64_t ordinal, const std::string& body);
  // An attempt's event and, where the gate passed it, its trust; the revision's number comes back.
  Result<int64_t> AppendRevision(const std::string& campaign, const Attempt& attempt);

  Database database_;
  ObjectStore objects_;
};

}  // namespace assay
