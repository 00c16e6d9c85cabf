// SPDX-License-Identifier: Apache-2.0
#include "engine/recheck.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/proof.h"

namespace assay {
namespace {

// What a verdict depends on; libraries of peers do not bear on a candidate.
constexpr const char* kBearing[] = {"gate", "g++", "clang++"};

bool Alike(const Versions& a, const Versions& b) {
  return std::all_of(std::begin(kBearing), std::end(kBearing), [&](const char* name) {
    const auto of_a = a.find(name), of_b = b.find(name);
    return (of_a == a.end()) == (of_b == b.end()) && (of_a == a.end() || of_a->second == of_b->second);
  });
}

// Nothing: the gate passes it to the end.
Result<std::optional<Rejected>> Judge(const Contract& contract, const Candidate& candidate, Builder& builder,
                                      Gate& gate, std::vector<CheckRecord>& checks) {
  ASSAY_TRY(const VerifyOutcome verified, ProveRight(contract, candidate, builder, gate));
  if (const auto* refused = std::get_if<Rejected>(&verified)) return std::optional(*refused);
  ASSAY_TRY(const ExamOutcome examined, gate.Examine(contract, candidate, std::get<Verified>(verified)));
  if (const auto* refused = std::get_if<Rejected>(&examined)) return std::optional(*refused);
  checks = std::get<Examined>(examined).checks();
  return std::optional<Rejected>();
}

}  // namespace

Result<Recheck> ProveAgain(const Contract& contract, const Campaign& campaign, const Versions& versions,
                           Builder& builder, Gate& gate) {
  if (!campaign.incumbent || !campaign.incumbent->examined)
    return Error{ErrorCode::kInvalidInput, "campaign " + campaign.id + " claims nothing: it has no examined winner"};
  if (campaign.contract_hash != contract.hash) {
    return Error{ErrorCode::kInvalidInput, "campaign " + campaign.id + " was run under another version of " +
                                               contract.name + "; restore it, or run a new campaign"};
  }
  const auto winner = std::find_if(campaign.attempts.begin(), campaign.attempts.end(), [&](const Attempt& attempt) {
    return attempt.ordinal == campaign.incumbent->attempt;
  });
  if (winner == campaign.attempts.end())
    return Error{ErrorCode::kCorrupt, "campaign " + campaign.id + ": its winner is not among its attempts"};
  const auto start = std::chrono::steady_clock::now();
  Recheck recheck;
  recheck.campaign = campaign.id;
  recheck.attempt = winner->ordinal;
  recheck.versions = versions;
  ASSAY_TRY(recheck.rejected, Judge(contract, winner->proposal.candidate, builder, gate, recheck.checks));
  if (recheck.rejected) recheck.checks = recheck.rejected->checks;
  recheck.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return recheck;
}

bool ProvedUnder(const Campaign& campaign, const Versions& versions) {
  return Alike(campaign.rechecks.empty() ? campaign.versions : campaign.rechecks.back().versions, versions);
}

}  // namespace assay
