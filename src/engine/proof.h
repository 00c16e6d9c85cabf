// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "contract/contract.h"
#include "record/seams.h"

namespace assay {

// A candidate through builder, screen and verification, no clock asked: the way of a winner that is proved again.
Result<VerifyOutcome> ProveRight(const Contract& contract, const Candidate& candidate, Builder& builder, Gate& gate);

// The same for a campaign's controls, where it is the gate that is asked.
Result<VerifyOutcome> ProveControl(const Contract& contract, const Candidate& candidate, Builder& builder, Gate& gate);

}  // namespace assay
