// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "app/cli/workshop.h"

namespace assay {

// One subject after it went through the gate: how far it came, and what the gate vouches for.
struct Passage {
  Attempt attempt;
  std::optional<Verified> verified;
};

// Build, then the stages up to `last`.  The engine's recipes (engine/attempt.h) do the same for many
// candidates and a ledger; this is for one that somebody named.
Result<Passage> PassTo(Stage last, Workshop& shop, const NamedKernel& subject);

}  // namespace assay
