// SPDX-License-Identifier: Apache-2.0
#include "record/candidate.h"

#include <algorithm>

#include "record/json_value.h"

namespace assay {

Candidate NamedByContent(Candidate candidate) {
  std::sort(candidate.flags.begin(), candidate.flags.end());
  candidate.source_hash = Sha256(candidate.source);
  // Canonical JSON: keys sorted, no blanks; the lengths that keep two records apart come from the quoting.
  candidate.id = Sha256(json_value::CandidateCore(candidate));
  return candidate;
}

}  // namespace assay
