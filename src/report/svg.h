// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "record/attempt.h"

namespace assay {

// One decision: a dot per restart group (its median ratio), the interval as a band, equality and
// the margin as lines.  Empty when there are no groups.
std::string DecisionSvg(const Decision& decision);

// Every unit of the winner and of the strongest reference by group, seconds a call on a logarithmic axis, with the
// winner's interval as a band and the floor as a line.  Gated units are rings.  Empty without units of the winner.
std::string UnitsSvg(const DecisionReport& report, const std::string& workload);

// Estimated time of each attempt in order, refused ones as crosses, the winner marked, the floor as a line.
std::string AttemptsSvg(const Campaign& campaign);

}  // namespace assay
