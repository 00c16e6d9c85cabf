// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/attempt.h"
#include "record/redteam.h"
#include "record/timing.h"
#include "record/verdict.h"

namespace assay {

// The nouns as JSON text.  Numbers that are not finite become null.  The shape of a campaign is
// docs/run.schema.json; that of the others is whatever the ledger reads back.
std::string CampaignJson(const Campaign& campaign);  // pretty, one object
std::string AttemptJson(const Attempt& attempt);     // without the candidate's source, which is an object of its own
Result<Attempt> ParseAttempt(std::string_view json);
std::string ReferenceJson(const ReferenceRecord& reference);
Result<ReferenceRecord> ParseReference(std::string_view json);
std::string RankingJson(const Ranking& ranking);
Result<Ranking> ParseRanking(std::string_view json);
std::string DecisionReportJson(const DecisionReport& report);
Result<DecisionReport> ParseDecisionReport(std::string_view json);
std::string AdmissionJson(const Admission& admission);
Result<Admission> ParseAdmission(std::string_view json);
std::string RecheckJson(const Recheck& recheck);
Result<Recheck> ParseRecheck(std::string_view json);
// The document of `assay recheck --json`.
std::string RechecksJson(std::span<const Recheck> rechecks);
std::string UnitsJson(std::span<const RawUnit> units);
Result<std::vector<RawUnit>> ParseUnits(std::string_view json);
// The head of a campaign (all but attempts, references and decision), and back.
std::string CampaignHeadJson(const Campaign& campaign);
Result<Campaign> ParseCampaignHead(std::string_view json);

// One verdict or one bench for --json.
std::string VerdictJson(const Attempt& attempt, const std::string& contract, const Machine& machine,
                        const Versions& versions);
// `last`: the last comparison whole, with its design and raw units.
std::string BenchJson(const DecisionReport& last, std::span<const Comparison> comparisons,
                      std::span<const Artifact> arms, const std::string& contract, const Machine& machine,
                      const Versions& versions);
std::string RedteamJson(const RedteamRun& run);

}  // namespace assay
