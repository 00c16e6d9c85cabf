// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace assay {

// `assay explain timing ATTEMPT`: "12" of the newest campaign, or "CAMPAIGN/12".  Prints how each figure follows from
// the stored raw units.  1 when a stored decision is not what its units say.
Result<int> ExplainTiming(const std::string& subject);

}  // namespace assay
