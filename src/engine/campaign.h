// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "engine/attempt.h"

namespace assay {

// What an interrupted campaign left in the ledger; empty for a new one.
struct Recorded {
  std::map<int64_t, std::vector<Attempt>> revisions;  // by ordinal, oldest first
  std::map<int, Ranking> rankings;                    // by round
  std::vector<ReferenceRecord> references;
  std::optional<DecisionReport> decision;
};

// A known-honest or known-cheating kernel of the contract's author.
struct Control {
  Candidate candidate;
  std::string name;
  bool must_pass = false;
};

struct CampaignOptions {
  // Put through build, screen and verify before the first proposal, as any candidate; the gate is not
  // told.  One that ends otherwise than it must ends the campaign: a gate that fails its own control
  // proves nothing here.
  std::vector<Control> controls;

  int round_size = 4;           // candidates that are built and screened before the next timing
  int promoted_per_round = 2;   // the gate's full checks are dear: only the best of a round meet them
  double promote_above = 0.98;  // of the incumbent's speed, by estimate; below it a challenger cannot win
  int most_exams = 3;
};

// Runs `campaign` (its head filled in: id, contract, seed, budget, machine, versions) to its end by
// its rules and fills in the rest.  Every finished step is in the ledger before the next begins;
// with `recorded`, steps that are there already are taken over, not repeated.
// An interrupt is not an error: the campaign stops with why = "interrupted".
Status RunCampaign(const Contract& contract, Campaign& campaign, const Recorded& recorded,
                   const CampaignOptions& options, const Tools& tools);

// Binaries that this campaign has seen.
class CampaignHistory : public History {
 public:
  std::optional<int64_t> SameBinary(const Artifact& artifact) override;
  void Remember(const Attempt& attempt) override;

 private:
  std::map<Digest, int64_t> by_twin_;
};

}  // namespace assay
