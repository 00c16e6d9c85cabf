// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

// Loads the object in a jailed process and returns what its `assay_info(char*, long)` wrote.
Result<std::string> AskInfo(std::string_view shared_object, const std::vector<std::filesystem::path>& libraries,
                            int threads);

}  // namespace assay
