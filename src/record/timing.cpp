// SPDX-License-Identifier: Apache-2.0
#include "record/timing.h"

#include "base/check.h"

namespace assay {

const Decision& Comparison::Telling() const {
  ASSAY_CHECK(!decisions.empty());
  const Decision* telling = &decisions.front();
  for (const Decision& decision : decisions) {
    if (decision.kind == DecisionKind::kSlower) return decision;
    if (IsClaim(telling->kind) && !IsClaim(decision.kind)) telling = &decision;
  }
  return *telling;
}

}  // namespace assay
