// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "contract/contract.h"
#include "record/attempt.h"
#include "record/seams.h"

namespace assay {

// Puts a campaign's winner through the whole gate once more: built from the recorded source, screened,
// verified, examined, under today's gate, compilers and machine.  A refusal is not a failure of ours
// but what the proof was made again for: the value says that the claim is retracted.  The clock is not
// asked: a kernel that is right and slower is another claim's business.
// Error: the harness could not do it, and nothing is known.
Result<Recheck> ProveAgain(const Contract& contract, const Campaign& campaign, const Versions& versions,
                           Builder& builder, Gate& gate);

// Whether the campaign's proof was made under these very versions of gate and compilers, at first or again.
bool ProvedUnder(const Campaign& campaign, const Versions& versions);

}  // namespace assay
