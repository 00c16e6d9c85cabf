// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/candidate.h"

namespace assay {

inline constexpr size_t kMaxKnobValues = 1024;

// Why a name cannot be a knob's, by its letters alone.
std::optional<std::string> BadKnobName(std::string_view name);

// What stands behind "assay:knob": NAME = values [default value] [if expr].  `trouble` says why a
// well-formed name is taken.  The error starts with "assay:knob NAME: ", without file and line.
Result<Knob> ParseKnobLine(std::string_view text,
                           const std::function<std::optional<std::string>(const std::string&)>& trouble);

}  // namespace assay
