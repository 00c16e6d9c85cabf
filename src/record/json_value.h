// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "record/candidate.h"

namespace assay::json_value {

// The canonical JSON that names a candidate.
std::string CandidateCore(const Candidate& candidate);

}  // namespace assay::json_value
