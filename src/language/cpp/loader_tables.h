// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

// The loader's tables that say nowhere how long they are.  `bytes` begins with the table and ends where the file's
// bytes in memory do.  Each returns nothing, or what is wrong in words that follow "has ".

// More symbols no kernel has; the loader walks them for each name that it looks up.
inline constexpr uint64_t kMaxLoaderSymbols = 1 << 16;

std::optional<std::string> CountBySysvHash(std::string_view bytes, uint64_t& count);
// 0: the table reaches no symbol at all, and tells nothing about how many there are.
std::optional<std::string> CountByGnuHash(std::string_view bytes, uint64_t& count);

struct VersionTables {
  std::string_view wanted;   // DT_VERNEED; empty: there is none
  std::string_view defined;  // DT_VERDEF
  std::string_view numbers;  // DT_VERSYM, two bytes a symbol
  std::string_view strings;  // DT_STRTAB
  std::span<const std::string> needed;
};
std::optional<std::string> CheckVersions(const VersionTables& tables);

// Notes that the loader walks by the lengths which they state.
std::optional<std::string> CheckNotes(std::string_view notes, uint64_t align);

}  // namespace assay
