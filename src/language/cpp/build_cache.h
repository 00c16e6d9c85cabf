// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace assay {

struct CachedBuild {
  Digest file_hash;
  Digest twin;
  double seconds = 0;
  std::vector<std::string> command;
  std::filesystem::path path;
};

// Finished shared objects by the name of what went into them.  Only the supervisor writes here; the
// bytes of a hit are hashed again, so a damaged or swapped file is a miss and never an artifact.
class BuildCache {
 public:
  explicit BuildCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::optional<CachedBuild> Find(const Digest& id) const;
  // A finished object that was not built here, under the hash of its bytes; gives its path.
  Result<std::filesystem::path> StoreObject(std::string_view bytes) const;
  // Fills file_hash and path.
  Result<CachedBuild> Store(const Digest& id, std::string_view bytes, CachedBuild build) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace assay
