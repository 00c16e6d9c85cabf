// SPDX-License-Identifier: Apache-2.0
#include "sandbox/programs.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>

namespace assay {

Result<std::filesystem::path> FindProgram(std::string_view name) {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const char* chosen = std::getenv("ASSAY_PROGRAMS");
  const std::filesystem::path folders[] = {
      chosen != nullptr ? chosen : "",
      self,
      self.parent_path() / "lib" / "assay",
#ifdef ASSAY_BUILD_DIR
      std::filesystem::path(ASSAY_BUILD_DIR) / "bin",
#endif
  };
  for (const std::filesystem::path& folder : folders) {
    if (folder.empty()) continue;
    const std::filesystem::path program = folder / name;
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return Error{ErrorCode::kNotFound, "the program " + std::string(name) + " is not beside " + self.string() +
                                         "; set ASSAY_PROGRAMS to its folder"};
}

}  // namespace assay
