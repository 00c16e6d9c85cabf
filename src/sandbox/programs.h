// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace assay {

// Our own helper programs: in $ASSAY_PROGRAMS, beside this program, in ../lib/assay, or in the build tree.
Result<std::filesystem::path> FindProgram(std::string_view name);

}  // namespace assay
