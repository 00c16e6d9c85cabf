// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/tools.h"

namespace assay {

// An attempt with what the gate left of it in memory.  The row is `attempt`; the rest dies with the process.
struct Trial {
  Attempt attempt;
  std::optional<Screened> screened;  // alive only while the attempt stands
  std::optional<Verified> verified;
  std::vector<RawUnit> units;  // of the last step, for the ledger
};

// One attempt, from a proposal to an estimate.  `incumbent`: what it is timed against, if any.
Result<Trial> RunAttempt(const Contract& contract, const Campaign& campaign, int64_t ordinal, const Proposal& proposal,
                         const Verified* incumbent, const Tools& tools);

// Verifies the trials given, most hopeful first, until `most` of them stand, and ranks those
// together with the incumbent.
Result<Ranking> Promote(const Contract& contract, const Campaign& campaign, std::span<Trial* const> trials, int most,
                        const Verified* incumbent, const Tools& tools);

// Seconds that a campaign with a time budget has for what comes next; 0 = it has none.
using TimeLeft = std::function<double()>;

// Examines the winner and decides against the references, on restarts drawn after it was frozen.
// No report when the exam or an audit refused it; `trial.attempt` says why.
Result<std::optional<DecisionReport>> Crown(const Contract& contract, const Campaign& campaign, Trial& trial,
                                            std::span<const Verified> references, const TimeLeft& left,
                                            const Tools& tools);

}  // namespace assay
