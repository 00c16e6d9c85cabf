// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/sha.h>

#include <array>

namespace assay {
namespace {

Digest Hex(const unsigned char* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(size * 2, '0');
  for (size_t i = 0; i < size; ++i) {
    hex[2 * i] = kDigits[bytes[i] >> 4];
    hex[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return hex;
}

}  // namespace

Digest Sha256(std::string_view bytes) { return Sha256(std::as_bytes(std::span(bytes.data(), bytes.size()))); }

Digest Sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> out{};
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data());
  return Hex(out.data(), out.size());
}

RecordHash& RecordHash::Add(std::string_view tag, std::string_view value) {
  bytes_ +=
      std::to_string(tag.size()) + ":" + std::string(tag) + std::to_string(value.size()) + ":" + std::string(value);
  return *this;
}

}  // namespace assay
