// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "measure/clock_state.h"
#include "measure/course.h"

namespace assay {

// What this machine can resolve now, from a few short groups of a trusted artifact against itself, before any group of
// a decision: told, kept in the report, and never part of a verdict.  `references` as in the decision to come, `arms`
// the processes of one of its groups.  Rejected: what the witness did wrong meanwhile.
Result<std::variant<Power, Rejected>> MeasurePower(KernelTimer::State& state, Course& course, const Artifact& witness,
                                                   size_t references, size_t arms);

}  // namespace assay
