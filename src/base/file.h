// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// The whole file as bytes.  Refuses folders, devices and anything above `limit` bytes, so that a
// path from a user or a contract cannot make the process eat memory.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t limit = size_t{64} << 20);

// Writes beside the target, syncs, renames: a reader or a crash sees the old file or the new one.
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes);

// A new empty folder below $TMPDIR or /tmp, removed with its contents at the end of its scope.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Create(std::string_view prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace assay
