// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.h"

namespace assay {

// True when the path, links followed, is an existing file or folder below `root`.
bool IsInside(const std::filesystem::path& root, const std::filesystem::path& path);

// Follows the #include lines of a file of a contract: allowed are <assay/...>, standard headers, and
// files inside the folder, without circles.  The error names file, line and the way round the circle.
Status ScanIncludes(const std::filesystem::path& root, const std::filesystem::path& file);

}  // namespace assay
