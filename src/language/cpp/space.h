// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "record/candidate.h"

namespace assay {

// Values of every knob with inactive ones at their default, and which of them are active.  Knobs
// are taken in file order; an `if` speaks of earlier knobs only, so one pass settles it.
struct ResolvedKnobs {
  KnobValues values;  // all
  KnobValues active;
};
Result<ResolvedKnobs> Resolve(const Template& family, const KnobValues& set);

// The first `when` that does not hold at these values, as text for a person; nothing when all hold.
std::optional<std::string> BrokenCondition(const Template& family, const KnobValues& values);

// Why no point of the family is legal, or nothing when one is (or when the space is too large to say).
std::optional<std::string> NoLegalPoint(const Template& family);

}  // namespace assay
