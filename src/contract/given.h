// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contract/contract.h"

// Outputs that the reference takes as the candidate returned them.
namespace assay {

// Whether some answer is computed from this output: through `given` or `along` of another one, or, in
// class solve, because what is judged is how well it solves.
bool IsGiven(const Contract& contract, const Tensor& output);

// Whether some answer depends on what the candidate returned: it then belongs to one call of one candidate.
bool DependsOnCandidate(const Contract& contract);

// How many other outputs must be there, one after the other, before this one can be computed.
int GivenDepth(const Contract& contract, const Tensor& output);

}  // namespace assay
