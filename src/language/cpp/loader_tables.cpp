// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/loader_tables.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "base/text.h"
#include "language/cpp/elf_bytes.h"

namespace assay {
namespace {

using Complaint = std::optional<std::string>;

constexpr uint64_t kMaxBuckets = 1 << 17;
constexpr uint64_t kMaxBloomWords = 1 << 17;
constexpr size_t kMaxVersions = 4096;
constexpr uint64_t kMaxNotes = 1 << 16;
constexpr uint16_t kVersionBits = 0x7fff;  // the last bit hides a symbol

std::optional<uint32_t> WordAt(std::string_view bytes, uint64_t index) {
  return ReadStructure<uint32_t>(bytes, index * sizeof(uint32_t));
}

}  // namespace

// Chains lead from symbol to symbol; one that is met twice is a circle, or one name's way into another's.
Complaint CountBySysvHash(std::string_view bytes, uint64_t& count) {
  const auto buckets = WordAt(bytes, 0), chains = WordAt(bytes, 1);
  if (!buckets || !chains || *buckets == 0 || *buckets > kMaxBuckets || *chains == 0 || *chains > kMaxLoaderSymbols)
    return "a DT_HASH without buckets or symbols, or with more than are read";
  if (!WordAt(bytes, uint64_t{2} + *buckets + *chains - 1)) return "a DT_HASH that leads beyond what is mapped";
  std::vector<bool> seen(*chains, false);
  for (uint64_t bucket = 0; bucket < *buckets; ++bucket) {
    for (uint64_t symbol = *WordAt(bytes, 2 + bucket); symbol != STN_UNDEF;
         symbol = *WordAt(bytes, uint64_t{2} + *buckets + symbol)) {
      if (symbol >= *chains) return fmt::format("a DT_HASH that leads to symbol {} of {}", symbol, *chains);
      if (seen[symbol]) return fmt::format("a DT_HASH that leads to symbol {} twice", symbol);
      seen[symbol] = true;
    }
  }
  count = *chains;
  return std::nullopt;
}

Complaint CountByGnuHash(std::string_view bytes, uint64_t& count) {
  const auto buckets = WordAt(bytes, 0), first = WordAt(bytes, 1), bloom = WordAt(bytes, 2), shift = WordAt(bytes, 3);
  if (!buckets || !first || !bloom || !shift || *buckets == 0 || *buckets > kMaxBuckets || *first == 0 ||
      *first > kMaxLoaderSymbols || !std::has_single_bit(*bloom) || *bloom > kMaxBloomWords || *shift > 31)
    return "a DT_GNU_HASH whose head makes no sense to the loader";
  const uint64_t heads = uint64_t{4} + 2 * uint64_t{*bloom}, chain = heads + *buckets;
  if (!WordAt(bytes, chain - 1)) return "a DT_GNU_HASH that leads beyond what is mapped";
  std::vector<bool> seen;
  count = 0;
  for (uint64_t bucket = 0; bucket < *buckets; ++bucket) {
    uint64_t symbol = *WordAt(bytes, heads + bucket);
    if (symbol == 0) continue;
    if (symbol < *first) return fmt::format("a DT_GNU_HASH that leads to symbol {}, before its first", symbol);
    for (bool last = false; !last; ++symbol) {
      const auto hash = WordAt(bytes, chain + (symbol - *first));
      if (!hash || symbol >= kMaxLoaderSymbols)
        return fmt::format("a DT_GNU_HASH with a chain that does not end (symbol {})", symbol);
      if (symbol >= seen.size()) seen.resize(symbol + 1, false);
      if (seen[symbol]) return fmt::format("a DT_GNU_HASH that leads to symbol {} twice", symbol);
      seen[symbol] = true;
      last = (*hash & 1) != 0;
    }
    count = std::max(count, symbol);
  }
  return std::nullopt;
}

namespace {

// One version of a needed library after the other, by their own distances; counts are not what the loader follows.
Complaint CollectWanted(const VersionTables& tables, std::set<uint16_t>& known) {
  size_t steps = 0;
  for (uint64_t at = 0;;) {
    const auto need = ReadStructure<Elf64_Verneed>(tables.wanted, at);
    if (!need || need->vn_version != VER_NEED_CURRENT) return "a DT_VERNEED that cannot be read";
    const std::string file = NameAt(tables.strings, need->vn_file).value_or("?");
    if (std::find(tables.needed.begin(), tables.needed.end(), file) == tables.needed.end())
      return fmt::format("a DT_VERNEED for {}, which it does not need", Printable(file));
    for (uint64_t entry = at + need->vn_aux;;) {
      const auto version = ReadStructure<Elf64_Vernaux>(tables.wanted, entry);
      if (!version || version->vna_name >= tables.strings.size()) return "a DT_VERNEED that cannot be read";
      known.insert(version->vna_other & kVersionBits);
      if (++steps > kMaxVersions) return "a DT_VERNEED without end";
      if (version->vna_next == 0) break;
      entry += version->vna_next;
    }
    if (++steps > kMaxVersions) return "a DT_VERNEED without end";
    if (need->vn_next == 0) return std::nullopt;
    at += need->vn_next;
  }
}

// Some linkers write the object's own name as its only version.
Complaint CheckDefined(const VersionTables& tables) {
  const auto base = ReadStructure<Elf64_Verdef>(tables.defined, 0);
  const auto name = base ? ReadStructure<Elf64_Verdaux>(tables.defined, base->vd_aux) : std::nullopt;
  if (!name || base->vd_version != VER_DEF_CURRENT || name->vda_name >= tables.strings.size())
    return "a DT_VERDEF that cannot be read";
  if ((base->vd_flags & VER_FLG_BASE) == 0 || base->vd_ndx != VER_NDX_GLOBAL || base->vd_next != 0)
    return "versions of its own symbols (DT_VERDEF): an entry has one; name none in a version script";
  return std::nullopt;
}

}  // namespace

Complaint CheckVersions(const VersionTables& tables) {
  if (tables.wanted.empty() && tables.defined.empty() && tables.numbers.empty()) return std::nullopt;
  // The loader takes each of them to come with the other.
  if ((tables.wanted.empty() && tables.defined.empty()) || tables.numbers.empty())
    return "one of DT_VERSYM and DT_VERNEED without the other";
  std::set<uint16_t> known{VER_NDX_LOCAL, VER_NDX_GLOBAL};
  if (!tables.defined.empty()) {
    if (auto trouble = CheckDefined(tables)) return trouble;
  }
  if (!tables.wanted.empty()) {
    if (auto trouble = CollectWanted(tables, known)) return trouble;
  }
  for (uint64_t at = 0; at < tables.numbers.size(); at += sizeof(uint16_t)) {
    const auto number = ReadStructure<uint16_t>(tables.numbers, at);
    if (!number) return "a DT_VERSYM that ends in the middle of a symbol";
    if (known.contains(*number & kVersionBits)) continue;
    return fmt::format("a symbol (index {}) of a version {} that is not defined", at / sizeof(uint16_t),
                       *number & kVersionBits);
  }
  return std::nullopt;
}

Complaint CheckNotes(std::string_view notes, uint64_t align) {
  if (align != 4 && align != 8) return fmt::format("notes aligned to {}", align);
  if (notes.size() > kMaxNotes) return fmt::format("{} bytes of notes, above {}", notes.size(), kMaxNotes);
  const auto up = [align](uint64_t size) { return (size + align - 1) / align * align; };
  for (uint64_t at = 0; at < notes.size();) {
    const auto note = ReadStructure<Elf64_Nhdr>(notes, at);
    const uint64_t text = note ? up(sizeof(*note) + note->n_namesz) : 0;
    if (!note || !BytesAt(notes, at + text, note->n_descsz)) return "a note that leads beyond its segment";
    at += text + up(note->n_descsz);
  }
  return std::nullopt;
}

}  // namespace assay
