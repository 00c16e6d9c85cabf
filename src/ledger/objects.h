// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"

namespace assay {

// Content-addressed files, zstd-compressed: objects/ab/cdef….zst holds the bytes whose SHA-256 is abcdef….
// Writing the same bytes twice is free; reading checks the name against the content.
class ObjectStore {
 public:
  explicit ObjectStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Result<Digest> Put(std::string_view bytes) const;
  // kNotFound, or kCorrupt when the content is not what the name says.
  Result<std::string> Get(const Digest& name) const;

 private:
  std::filesystem::path PathOf(const Digest& name) const;
  std::filesystem::path folder_;
};

// zstd frames for what the ledger keeps in a column.
Result<std::string> Compress(std::string_view bytes);
Result<std::string> Decompress(std::string_view bytes);

}  // namespace assay
