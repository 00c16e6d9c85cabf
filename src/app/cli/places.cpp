// SPDX-License-Identifier: Apache-2.0
#include "app/cli/places.h"

#include <algorithm>

#include "contract/load.h"

namespace assay {
namespace fs = std::filesystem;

namespace {

// An installed program has its files at ../share/assay, one in a build tree in its sources.
fs::path InstalledFolder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share/assay";
}

}  // namespace

fs::path WorkspaceFolder() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  for (fs::path folder = here; !folder.empty(); folder = folder.parent_path()) {
    if (fs::is_directory(folder / ".assay", error)) return folder;
    if (folder == folder.root_path()) break;
  }
  return here;
}

std::vector<fs::path> ContractFolders() {
  std::error_code error;
  std::vector<fs::path> folders{fs::current_path(error) / "contracts", WorkspaceFolder() / "contracts"};
  folders.push_back(InstalledFolder() / "contracts");
  folders.emplace_back(fs::path(ASSAY_SOURCE_DIR) / "contracts");
  // The same folder under two names (run inside the sources) would list its contracts twice.
  std::vector<fs::path> distinct;
  for (const fs::path& folder : folders) {
    const fs::path real = fs::weakly_canonical(folder, error);
    if (std::find(distinct.begin(), distinct.end(), real) == distinct.end()) distinct.push_back(real);
  }
  return distinct;
}

Result<fs::path> ShippedCorpus() {
  std::error_code error;
  for (const fs::path& folder : {InstalledFolder() / "hostile", fs::path(ASSAY_SOURCE_DIR) / "tests/hostile"}) {
    if (fs::is_directory(folder, error)) return folder;
  }
  return Error{ErrorCode::kNotFound, "the hostile corpus is not installed beside this program; name a FOLDER"};
}

Result<fs::path> LocateContract(std::string_view name_or_path) { return FindContract(name_or_path, ContractFolders()); }

}  // namespace assay
