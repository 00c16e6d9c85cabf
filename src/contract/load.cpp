// SPDX-License-Identifier: Apache-2.0
#include "contract/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "contract/config.h"
#include "contract/load_tables.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileName = "contract.toml";
constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr int kMaxListed = 1000;

bool HoldsContract(const fs::path& folder) {
  std::error_code failed;
  return fs::is_regular_file(folder / kFileName, failed);
}

std::vector<std::string> ContractsIn(std::span<const fs::path> folders) {
  std::vector<std::string> names;
  for (const fs::path& folder : folders) {
    std::error_code failed;
    int listed = 0;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end && ++listed < kMaxListed;
         it.increment(failed)) {
      if (HoldsContract(it->path())) names.push_back(it->path().filename().string());
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());  // the same folder may be searched twice
  return names;
}

// Every value is of its type; every name means something, and the lists are in C order; there is a legal
// shape, and all workloads are.
Status ReadInto(const Locator& where, Contract& contract) {
  ASSAY_TRY_STATUS(ReadTables(where, contract));
  ASSAY_TRY_STATUS(CheckNames(where, contract));
  return CheckShapes(where, contract);
}

}  // namespace

Result<Contract> ParseContract(std::string_view text, const std::string& shown) {
  ASSAY_TRY(const ConfigNode root, ParseConfig(text, shown));
  Contract contract;
  ASSAY_TRY_STATUS(ReadInto(Locator(shown, root), contract));
  return contract;
}

Result<Contract> LoadContract(const fs::path& folder_or_toml, const LoadOptions& options) {
  std::error_code failed;
  const bool is_folder = fs::is_directory(folder_or_toml, failed);
  const fs::path toml = is_folder ? folder_or_toml / kFileName : folder_or_toml;
  const std::string shown = Printable(toml.string());
  const Result<std::string> text = ReadFile(toml, kMaxBytes);
  if (!text.ok()) {
    const bool absent = text.error().code == ErrorCode::kNotFound;
    return ConfigError(shown, 1, "file",
                       absent ? "does not exist; name a contract's folder or its contract.toml"
                              : text.error().message + "; name a readable contract.toml");
  }
  ASSAY_TRY(const ConfigNode root, ParseConfig(text.value(), shown));
  const Locator where(shown, root);

  Contract contract;
  contract.folder = fs::canonical(toml.has_parent_path() ? toml.parent_path() : fs::path("."), failed);
  if (failed) return ConfigError(shown, 1, "folder", failed.message() + "; name a contract's folder");
  ASSAY_TRY_STATUS(ReadInto(where, contract));
  ASSAY_TRY_STATUS(CollectFiles(where, contract));
  if (options.neighbours) {
    ASSAY_TRY_STATUS(FindNeighbours(where, contract));
    ASSAY_TRY_STATUS(FindSequences(where, contract));
  }
  if (!contract.unsupported.empty() && !options.allow_unsupported) {
    return Error{ErrorCode::kInvalidInput, contract.unsupported.front()};
  }
  return contract;
}

Result<fs::path> FindContract(std::string_view name_or_path, std::span<const fs::path> search_folders) {
  const fs::path path{std::string(name_or_path)};
  std::error_code failed;
  if (!name_or_path.empty()) {
    if (HoldsContract(path)) return fs::canonical(path, failed);
    if (path.filename() == kFileName &&
        HoldsContract(path.parent_path().empty() ? fs::path(".") : path.parent_path())) {
      return fs::canonical(path, failed).parent_path();
    }
    const bool plain = path.is_relative() && path.lexically_normal().begin()->string() != "..";
    for (const fs::path& folder : search_folders) {
      if (plain && HoldsContract(folder / path)) return fs::canonical(folder / path, failed);
    }
  }
  const std::vector<std::string> known = ContractsIn(search_folders);
  const std::string nearest = Nearest(name_or_path, known);
  std::string remedy =
      nearest.empty() ? "name a folder with a contract.toml" : fmt::format("did you mean {}?", nearest);
  if (nearest.empty() && !known.empty()) remedy += fmt::format(", or one of {}", Cut(Join(known, ", "), 300));
  return Error{ErrorCode::kInvalidInput,
               fmt::format("no contract \"{}\"; {}", Printable(Cut(name_or_path, 200)), remedy)};
}

}  // namespace assay
