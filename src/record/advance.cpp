// SPDX-License-Identifier: Apache-2.0
#include "record/advance.h"

namespace assay {

void Refuse(Attempt& attempt, const Rejected& why) {
  attempt.outcome = OutcomeKind::kRejected;
  attempt.stage = why.stage;
  if (!why.checks.empty()) attempt.checks = why.checks;
  attempt.rejected = why;
}

void Advance(Attempt& attempt, Stage stage, Trust trust, const std::vector<CheckRecord>& checks) {
  attempt.stage = stage;
  attempt.trust = trust;
  attempt.checks = checks;
}

}  // namespace assay
