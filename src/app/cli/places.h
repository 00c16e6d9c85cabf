// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

// The nearest parent folder with .assay/, else the current one; `.assay` inside it holds ledger,
// objects and cache.
std::filesystem::path WorkspaceFolder();

// Where a contract name is looked for: ./contracts, the workspace's, those beside the program.
std::vector<std::filesystem::path> ContractFolders();

// The folder of a contract given by name or path; the error lists where it looked.
Result<std::filesystem::path> LocateContract(std::string_view name_or_path);

// The corpus of hostile kernels that comes with the program.
Result<std::filesystem::path> ShippedCorpus();

}  // namespace assay
