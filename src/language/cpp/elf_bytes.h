// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

// How a file is read whose offsets were written by somebody hostile.

inline std::optional<std::string_view> BytesAt(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.substr(offset, size);
}

// Copied out: nothing in a file is aligned by promise.
template <typename T>
std::optional<T> ReadStructure(std::string_view bytes, uint64_t offset) {
  const auto slice = BytesAt(bytes, offset, sizeof(T));
  if (!slice) return std::nullopt;
  T value;
  std::memcpy(&value, slice->data(), sizeof(T));
  return value;
}

// "" where the offset leads outside.
inline std::string StringAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

// Nothing where the offset leads outside, or to a name so long that a table of them would fill our memory.
inline std::optional<std::string> NameAt(std::string_view table, uint64_t offset) {
  constexpr size_t kMaxName = 4096;
  if (offset >= table.size()) return std::nullopt;
  const std::string_view start = table.substr(offset, kMaxName + 1);
  const size_t end = start.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(start.substr(0, end));
}

}  // namespace assay
