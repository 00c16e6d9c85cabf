// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay {

// A SHA-256 as 64 lower-case hexadecimal digits; what content is named by everywhere.
using Digest = std::string;

Digest Sha256(std::string_view bytes);
Digest Sha256(std::span<const std::byte> bytes);

// Builds the digest of a record of fields.  Each field is length-prefixed and tagged, so that no
// two different records have one serialisation ("ab"+"c" against "a"+"bc").
class RecordHash {
 public:
  explicit RecordHash(std::string_view type) { Add("type", type); }
  RecordHash& Add(std::string_view tag, std::string_view value);
  RecordHash& Add(std::string_view tag, int64_t value) { return Add(tag, std::to_string(value)); }
  Digest Finish() const { return Sha256(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace assay
