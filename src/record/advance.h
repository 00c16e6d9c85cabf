// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "record/attempt.h"

namespace assay {

// How an attempt moves; whoever walks a candidate through the stages keeps its row with these two.

// The candidate's own failure ends the attempt; the row keeps which check saw what.
void Refuse(Attempt& attempt, const Rejected& why);
// One level of trust more; `checks`: those of the levels below are among them.
void Advance(Attempt& attempt, Stage stage, Trust trust, const std::vector<CheckRecord>& checks);

}  // namespace assay
