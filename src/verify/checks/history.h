// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "verify/examination.h"

namespace assay {

// A wrong answer in a process with a past: when the same call is right in a fresh process, the past
// is to blame and not the arithmetic.
Result<std::optional<Rejected>> BlamedOnHistory(Examination& examination, const Case& c, size_t slot, Rejected found);

}  // namespace assay
