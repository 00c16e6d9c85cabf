// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "contract/contract.h"

namespace assay {

struct LoadOptions {
  // Accept what the format reserves but this version cannot run (`forward:`).
  // Only for looking at a contract: a run that ignored these keys would check something else.
  bool allow_unsupported = false;
  // Load the contracts that its in-situ workloads and sequences name.  Without them neither can be timed.
  bool neighbours = true;
};

// Reads a contract folder, or the contract.toml inside it.  Every error is kInvalidInput with the
// text `FILE:LINE: KEY: what is wrong; remedy`.
Result<Contract> LoadContract(const std::filesystem::path& folder_or_toml, const LoadOptions& options = {});

// The folder of a contract: `name_or_path` as a path, else as a name in the search folders, in order.
// The text of a contract.toml alone: everything but the folder's files, whose lists stay empty.  `shown` is
// the file's name in errors.
Result<Contract> ParseContract(std::string_view text, const std::string& shown);

Result<std::filesystem::path> FindContract(std::string_view name_or_path,
                                           std::span<const std::filesystem::path> search_folders);

}  // namespace assay
