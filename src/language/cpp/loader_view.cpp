// SPDX-License-Identifier: Apache-2.0
//
// What glibc 2.36 does with an object, in elf/dl-load.c, get-dynamic-info.h, dl-version.c, dl-reloc.c and
// dl-machine.h, decides what is asked here:
// - of two PT_DYNAMIC, or two entries of one tag, it takes the last, and it reads entries until DT_NULL, wherever;
// - segments are mapped in file order at fixed places, so that a later one may cover an earlier one; the tail of a page
//   behind a segment's file bytes is cleared, or holds what follows in the file;
// - program headers are read from the file, later again from memory;
// - tables are believed to be as long as they need to be, a relocation may write anywhere, and what one of them writes
//   is read by the next.
// So all tables must lie in bytes of the file that nothing writes, and be read at the address, not at the offset.
#include "language/cpp/loader_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "language/cpp/elf_bytes.h"
#include "language/cpp/loader_tables.h"

namespace assay {
namespace {

using Complaint = std::optional<std::string>;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxAlign = uint64_t{64} << 20;
constexpr uint64_t kMaxAddress = uint64_t{1} << 40;  // sums of two such numbers cannot wrap
constexpr uint64_t kMaxSegments = 64;
constexpr size_t kMaxDynamic = 1024;
constexpr size_t kMaxRelocations = 1 << 20;
constexpr size_t kMaxLetters = size_t{16} << 20;  // of all names of symbols

constexpr uint64_t PageStart(uint64_t address) { return address / kPage * kPage; }
constexpr uint64_t PageEnd(uint64_t address) { return PageStart(address + kPage - 1); }

struct SegmentName {
  uint32_t type;
  std::string_view name;
};
// Those of which an object has one at most.
constexpr SegmentName kSingle[] = {
    {PT_DYNAMIC, "PT_DYNAMIC"},
    {PT_PHDR, "PT_PHDR"},
    {PT_INTERP, "PT_INTERP"},
    {PT_TLS, "PT_TLS"},
    {PT_GNU_STACK, "PT_GNU_STACK"},
    {PT_GNU_RELRO, "PT_GNU_RELRO"},
    {PT_GNU_EH_FRAME, "PT_GNU_EH_FRAME"},
    {PT_GNU_PROPERTY, "PT_GNU_PROPERTY"},
};
// Those whose bytes the loader reads in memory.
constexpr SegmentName kRead[] = {
    {PT_DYNAMIC, "PT_DYNAMIC"},
    {PT_PHDR, "PT_PHDR"},
    {PT_NOTE, "PT_NOTE"},
    {PT_GNU_EH_FRAME, "PT_GNU_EH_FRAME"},
    {PT_GNU_PROPERTY, "PT_GNU_PROPERTY"},
};

class LoaderReader {
 public:
  LoaderReader(std::string_view bytes, LoaderView& view) : bytes_(bytes), view_(view) {}

  Complaint Read() {
    for (const auto part : {&LoaderReader::Header, &LoaderReader::Loads, &LoaderReader::OtherSegments,
                            &LoaderReader::Relro, &LoaderReader::DynamicEntries, &LoaderReader::Strings,
                            &LoaderReader::Symbols, &LoaderReader::Versions, &LoaderReader::Relocations}) {
      if (auto trouble = (this->*part)()) return trouble;
    }
    return std::nullopt;
  }

 private:
  Complaint Header();
  Complaint Loads();
  Complaint OtherSegments();
  Complaint CheckRead(const Elf64_Phdr& segment, std::string_view name) const;
  Complaint Relro();
  Complaint DynamicEntries();
  Complaint Strings();
  Complaint CountSymbols(uint64_t& count) const;
  Complaint Symbols();
  Complaint Versions();
  Complaint Relocations();
  Complaint Table(std::string_view name, uint64_t address, uint64_t size, std::string_view& table) const;
  Complaint Tail(std::string_view name, int64_t tag, std::string_view& table) const;
  Complaint SizedTable(std::string_view name, int64_t address, int64_t size, size_t entry,
                       std::string_view& table) const;
  Complaint AddRelocations(std::string_view name, std::string_view table);
  Complaint AddRelative(std::string_view table);
  const Elf64_Phdr* Find(uint32_t type) const;

  std::string_view bytes_;
  LoaderView& view_;
  Elf64_Ehdr header_{};
  std::string_view strings_;
};

const Elf64_Phdr* LoaderReader::Find(uint32_t type) const {
  const auto at = std::find_if(view_.segments.begin(), view_.segments.end(),
                               [type](const Elf64_Phdr& segment) { return segment.p_type == type; });
  return at == view_.segments.end() ? nullptr : &*at;
}

Complaint LoaderReader::Header() {
  const auto header = ReadStructure<Elf64_Ehdr>(bytes_, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64 || header->e_type != ET_DYN) {
    return "is no shared object that can be read";
  }
  header_ = *header;
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 || header_.e_phnum > kMaxSegments ||
      header_.e_phoff % alignof(Elf64_Phdr) != 0) {
    return fmt::format("has {} program headers of {} bytes at {:#x}: read are 1 to {}, of {} bytes, aligned to 8",
                       header_.e_phnum, header_.e_phentsize, header_.e_phoff, kMaxSegments, sizeof(Elf64_Phdr));
  }
  const uint64_t size = header_.e_phnum * sizeof(Elf64_Phdr);
  const auto table = BytesAt(bytes_, header_.e_phoff, size);
  if (!table) return fmt::format("has program headers at {:#x}, beyond its end", header_.e_phoff);
  for (uint64_t at = 0; at < size; at += sizeof(Elf64_Phdr)) {
    const Elf64_Phdr segment = *ReadStructure<Elf64_Phdr>(*table, at);
    if (!BytesAt(bytes_, segment.p_offset, segment.p_filesz))
      return fmt::format("has a segment (program header {}) that lies beyond its end", view_.segments.size());
    view_.segments.push_back(segment);
  }
  for (const SegmentName& single : kSingle) {
    const auto many = std::count_if(view_.segments.begin(), view_.segments.end(),
                                    [&](const Elf64_Phdr& segment) { return segment.p_type == single.type; });
    if (many > 1) return fmt::format("has {} segments {}: the loader takes the last", many, single.name);
  }
  if (Find(PT_DYNAMIC) == nullptr) return "has no dynamic segment (PT_DYNAMIC)";
  return std::nullopt;
}

Complaint LoaderReader::Loads() {
  uint64_t end = 0;  // of the pages that are taken
  for (const Elf64_Phdr& segment : view_.segments) {
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t at = segment.p_vaddr;
    if (!std::has_single_bit(segment.p_align) || segment.p_align < kPage || segment.p_align > kMaxAlign ||
        (at - segment.p_offset) % segment.p_align != 0) {
      return fmt::format("has a segment at {:#x} (file offset {:#x}) that does not fit its alignment of {:#x}", at,
                         segment.p_offset, segment.p_align);
    }
    if ((segment.p_flags & PF_R) == 0) return fmt::format("has a segment at {:#x} that cannot be read", at);
    if (segment.p_memsz == 0 || segment.p_filesz > segment.p_memsz)
      return fmt::format("has a segment at {:#x} that is smaller than its contents", at);
    if (at > kMaxAddress || segment.p_memsz > kMaxAddress)
      return fmt::format("has a segment of {:#x} bytes at {:#x}, far beyond what a kernel needs", segment.p_memsz, at);
    if (end == 0) {
      if (at != 0 || segment.p_offset != 0 || (segment.p_flags & PF_W) != 0 || header_.e_phoff > segment.p_filesz ||
          header_.e_phnum * sizeof(Elf64_Phdr) > segment.p_filesz - header_.e_phoff) {
        return "has a first segment that can be written, or does not begin with the file and hold its program headers";
      }
    } else if (PageStart(at) < end) {
      return fmt::format(
          "has a segment at {:#x} that begins before {:#x}, where those before it end: it would be mapped over them",
          at, end);
    }
    end = PageEnd(at + segment.p_memsz);
  }
  return end == 0 ? Complaint("has no segment to load (PT_LOAD)") : std::nullopt;
}

// A segment that the loader reads in memory, by its address, says the same as the file does at its offset.
Complaint LoaderReader::CheckRead(const Elf64_Phdr& segment, std::string_view name) const {
  const Elf64_Phdr* load = view_.Mapping(segment.p_vaddr, segment.p_filesz, true);
  if (load == nullptr || segment.p_offset - load->p_offset != segment.p_vaddr - load->p_vaddr) {
    return fmt::format(
        "has a {} at address {:#x} and file offset {:#x}, which is not what is mapped there: the loader would read "
        "something else",
        name, segment.p_vaddr, segment.p_offset);
  }
  if (segment.p_memsz != segment.p_filesz)
    return fmt::format("has a {} of {} bytes in memory and {} in the file", name, segment.p_memsz, segment.p_filesz);
  const bool writable = (load->p_flags & PF_W) != 0;
  if (segment.p_type == PT_DYNAMIC) {
    // Says it can be written: the loader then adds its base to the addresses in it.
    if (segment.p_vaddr % alignof(Elf64_Dyn) == 0 && ((segment.p_flags & PF_W) == 0 || writable)) return std::nullopt;
    return "has a PT_DYNAMIC that is not aligned, or says that it can be written where it cannot";
  }
  if (writable) return fmt::format("has a {} at {:#x} in memory that can be written", name, segment.p_vaddr);
  if (segment.p_type == PT_PHDR &&
      (segment.p_offset != header_.e_phoff || segment.p_filesz != header_.e_phnum * sizeof(Elf64_Phdr)))
    return "has a PT_PHDR that is not its program headers";
  if (segment.p_type != PT_NOTE && segment.p_type != PT_GNU_PROPERTY) return std::nullopt;
  const auto trouble = CheckNotes(bytes_.substr(segment.p_offset, segment.p_filesz), segment.p_align);
  return trouble ? Complaint(fmt::format("has {} ({})", *trouble, name)) : std::nullopt;
}

Complaint LoaderReader::OtherSegments() {
  for (const Elf64_Phdr& segment : view_.segments) {
    for (const SegmentName& read : kRead) {
      if (segment.p_type != read.type) continue;
      if (auto trouble = CheckRead(segment, read.name)) return trouble;
    }
  }
  return std::nullopt;
}

// What the loader protects against writing once it is done; elsewhere it would be somebody else's memory.
Complaint LoaderReader::Relro() {
  const Elf64_Phdr* relro = Find(PT_GNU_RELRO);
  if (relro == nullptr) return std::nullopt;
  const Elf64_Phdr* load = view_.Mapping(relro->p_vaddr, 1, false);
  if (load != nullptr && (load->p_flags & PF_W) != 0 && relro->p_memsz <= kMaxAddress &&
      relro->p_vaddr + relro->p_memsz <= PageEnd(load->p_vaddr + load->p_memsz)) {
    return std::nullopt;
  }
  return fmt::format("has a PT_GNU_RELRO of {:#x} bytes at {:#x}, outside of its own writable memory", relro->p_memsz,
                     relro->p_vaddr);
}

Complaint LoaderReader::DynamicEntries() {
  const Elf64_Phdr* segment = Find(PT_DYNAMIC);
  const std::string_view table = bytes_.substr(segment->p_offset, segment->p_filesz);
  for (uint64_t at = 0;; at += sizeof(Elf64_Dyn)) {
    const auto entry = ReadStructure<Elf64_Dyn>(table, at);
    if (!entry) {
      return fmt::format("has a dynamic segment without DT_NULL in its {} bytes: the loader would read on behind it",
                         table.size());
    }
    if (entry->d_tag == DT_NULL) return std::nullopt;
    if (entry->d_tag != DT_NEEDED && view_.HasDynamic(entry->d_tag))
      return fmt::format("has two dynamic entries {:#x}: the loader takes the last", entry->d_tag);
    if (view_.dynamic.size() == kMaxDynamic) return fmt::format("has more than {} dynamic entries", kMaxDynamic);
    view_.dynamic.push_back(*entry);
  }
}

// The bytes of a table by its address: of the file, where nothing writes.
Complaint LoaderReader::Table(std::string_view name, uint64_t address, uint64_t size, std::string_view& table) const {
  const Elf64_Phdr* load = view_.Mapping(address, size, true);
  if (load == nullptr)
    return fmt::format("has a {} of {} bytes at {:#x}, outside of what is mapped from the file", name, size, address);
  if ((load->p_flags & PF_W) != 0) return fmt::format("has a {} at {:#x} in memory that can be written", name, address);
  table = bytes_.substr(load->p_offset + (address - load->p_vaddr), size);
  return std::nullopt;
}

// A table that does not say how long it is: all that follows in its segment.  Stays empty when there is none.
Complaint LoaderReader::Tail(std::string_view name, int64_t tag, std::string_view& table) const {
  const auto address = view_.Dynamic(tag);
  if (!address) return std::nullopt;
  if (auto trouble = Table(name, *address, 1, table)) return trouble;
  const Elf64_Phdr* load = view_.Mapping(*address, 1, true);
  return Table(name, *address, load->p_filesz - (*address - load->p_vaddr), table);
}

// A table and its size come together or not at all.
Complaint LoaderReader::SizedTable(std::string_view name, int64_t address, int64_t size, size_t entry,
                                   std::string_view& table) const {
  const auto at = view_.Dynamic(address), bytes = view_.Dynamic(size);
  if (!at && !bytes) return std::nullopt;
  if (!at || !bytes || *bytes % entry != 0)
    return fmt::format("has a {} without address, without size, or with a part of an entry", name);
  // Of an empty one the loader reads nothing, wherever it is said to be.
  return *bytes == 0 ? std::nullopt : Table(name, *at, *bytes, table);
}

Complaint LoaderReader::Strings() {
  if (auto trouble = SizedTable("DT_STRTAB", DT_STRTAB, DT_STRSZ, 1, strings_)) return trouble;
  if (strings_.empty() || strings_.back() != '\0') return "has no string table (DT_STRTAB), or one that does not end";
  for (const Elf64_Dyn& entry : view_.dynamic) {
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME) continue;
    const auto name = NameAt(strings_, entry.d_un.d_val);
    if (!name) return "has a name of a library outside of its string table";
    if (entry.d_tag == DT_NEEDED) view_.needed.push_back(*name);
    if (entry.d_tag == DT_SONAME) view_.soname = *name;
  }
  return std::nullopt;
}

// How far lookups can reach.  The loader uses DT_GNU_HASH where there are both; others use DT_HASH.
Complaint LoaderReader::CountSymbols(uint64_t& count) const {
  std::string_view sysv, gnu;
  if (auto trouble = Tail("DT_HASH", DT_HASH, sysv)) return trouble;
  if (auto trouble = Tail("DT_GNU_HASH", DT_GNU_HASH, gnu)) return trouble;
  if (sysv.empty() && gnu.empty()) return "has no DT_HASH and no DT_GNU_HASH: nobody knows how many symbols it has";
  uint64_t by_sysv = 0, by_gnu = 0;
  if (auto trouble = sysv.empty() ? Complaint() : CountBySysvHash(sysv, by_sysv)) return "has " + *trouble;
  if (auto trouble = gnu.empty() ? Complaint() : CountByGnuHash(gnu, by_gnu)) return "has " + *trouble;
  if (by_sysv == 0 && by_gnu == 0) return "exports nothing that the loader could find; the contract's entry must be";
  if (by_sysv != 0 && by_gnu != 0 && by_sysv != by_gnu)
    return fmt::format("has {} symbols by its DT_HASH and {} by its DT_GNU_HASH", by_sysv, by_gnu);
  count = std::max(by_sysv, by_gnu);
  return std::nullopt;
}

Complaint LoaderReader::Symbols() {
  uint64_t count = 0;
  if (auto trouble = CountSymbols(count)) return trouble;
  const auto address = view_.Dynamic(DT_SYMTAB);
  if (!address || view_.Dynamic(DT_SYMENT) != sizeof(Elf64_Sym)) return "has no symbol table (DT_SYMTAB, DT_SYMENT)";
  std::string_view table;
  if (auto trouble = Table("DT_SYMTAB", *address, count * sizeof(Elf64_Sym), table)) return trouble;
  // Relocations without a symbol name it.
  if (std::any_of(table.begin(), table.begin() + sizeof(Elf64_Sym), [](char byte) { return byte != 0; }))
    return "has a first symbol that is not empty";
  size_t letters = 0;
  for (uint64_t index = 0; index < count; ++index) {
    const Elf64_Sym symbol = *ReadStructure<Elf64_Sym>(table, index * sizeof(Elf64_Sym));
    auto name = NameAt(strings_, symbol.st_name);
    if (!name) return fmt::format("has a symbol (index {}) with a name outside of its string table, or endless", index);
    if ((letters += name->size()) > kMaxLetters) return "has names of symbols without end";
    view_.symbols.push_back({std::move(*name), static_cast<unsigned char>(ELF64_ST_BIND(symbol.st_info)),
                             static_cast<unsigned char>(ELF64_ST_TYPE(symbol.st_info)),
                             static_cast<unsigned char>(ELF64_ST_VISIBILITY(symbol.st_other)), symbol.st_shndx,
                             symbol.st_value});
  }
  return std::nullopt;
}

Complaint LoaderReader::Versions() {
  VersionTables tables;
  tables.strings = strings_;
  tables.needed = view_.needed;
  if (auto trouble = Tail("DT_VERNEED", DT_VERNEED, tables.wanted)) return trouble;
  if (auto trouble = Tail("DT_VERDEF", DT_VERDEF, tables.defined)) return trouble;
  if (const auto address = view_.Dynamic(DT_VERSYM)) {
    if (auto trouble = Table("DT_VERSYM", *address, view_.symbols.size() * sizeof(uint16_t), tables.numbers))
      return trouble;
  }
  const auto trouble = CheckVersions(tables);
  return trouble ? Complaint("has " + *trouble) : std::nullopt;
}

Complaint LoaderReader::AddRelocations(std::string_view name, std::string_view table) {
  for (uint64_t at = 0; at < table.size(); at += sizeof(Elf64_Rela)) {
    const Elf64_Rela relocation = *ReadStructure<Elf64_Rela>(table, at);
    const uint64_t symbol = ELF64_R_SYM(relocation.r_info);
    if (symbol >= view_.symbols.size())
      return fmt::format("has a {} that names symbol {} of {}", name, symbol, view_.symbols.size());
    if (view_.relocations.size() == kMaxRelocations)
      return fmt::format("has more than {} load-time relocations", kMaxRelocations);
    view_.relocations.push_back({relocation.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info)),
                                 static_cast<uint32_t>(symbol), relocation.r_addend});
  }
  return std::nullopt;
}

// An even word is a place, an odd one has a bit for each of the 63 places that follow the last.
Complaint LoaderReader::AddRelative(std::string_view table) {
  constexpr uint64_t kBits = 63;
  std::optional<uint64_t> next;
  for (uint64_t at = 0; at < table.size(); at += sizeof(uint64_t)) {
    const uint64_t word = *ReadStructure<uint64_t>(table, at);
    if (view_.relocations.size() + kBits > kMaxRelocations)
      return fmt::format("has more than {} load-time relocations", kMaxRelocations);
    if ((word & 1) == 0) {
      view_.relocations.push_back({word, R_X86_64_RELATIVE, 0, 0});
      next = word + sizeof(uint64_t);
      continue;
    }
    if (!next) return "has a DT_RELR that does not begin with a place";
    for (uint64_t bit = 0; bit < kBits; ++bit) {
      if ((word >> (bit + 1) & 1) != 0)
        view_.relocations.push_back({*next + bit * sizeof(uint64_t), R_X86_64_RELATIVE, 0, 0});
    }
    *next += kBits * sizeof(uint64_t);
  }
  return std::nullopt;
}

Complaint LoaderReader::Relocations() {
  struct Row {
    int64_t table, kind;
    uint64_t value;
  };
  constexpr Row kKinds[] = {{DT_RELA, DT_RELAENT, sizeof(Elf64_Rela)},
                            {DT_JMPREL, DT_PLTREL, DT_RELA},
                            {DT_RELR, DT_RELRENT, sizeof(uint64_t)}};
  for (const Row& row : kKinds) {
    if (view_.Dynamic(row.kind) != (view_.HasDynamic(row.table) ? std::optional(row.value) : std::nullopt)) {
      return fmt::format("has relocations of another kind than the loader applies, or of none (dynamic entry {:#x})",
                         row.kind);
    }
  }
  std::string_view plain, calls, packed;
  if (auto trouble = SizedTable("DT_RELA", DT_RELA, DT_RELASZ, sizeof(Elf64_Rela), plain)) return trouble;
  if (auto trouble = SizedTable("DT_JMPREL", DT_JMPREL, DT_PLTRELSZ, sizeof(Elf64_Rela), calls)) return trouble;
  if (auto trouble = SizedTable("DT_RELR", DT_RELR, DT_RELRSZ, sizeof(uint64_t), packed)) return trouble;
  if (auto trouble = AddRelocations("DT_RELA", plain)) return trouble;
  // So many are taken for R_X86_64_RELATIVE, whatever they say.
  const uint64_t relative = view_.Dynamic(DT_RELACOUNT).value_or(0);
  if (relative > view_.relocations.size() ||
      std::any_of(view_.relocations.begin(), view_.relocations.begin() + static_cast<std::ptrdiff_t>(relative),
                  [](const LoaderRelocation& one) { return one.type != R_X86_64_RELATIVE; })) {
    return fmt::format("has a DT_RELACOUNT of {}, more relative relocations than there are", relative);
  }
  if (auto trouble = AddRelocations("DT_JMPREL", calls)) return trouble;
  return AddRelative(packed);
}

}  // namespace

std::optional<uint64_t> LoaderView::Dynamic(int64_t tag) const {
  for (const Elf64_Dyn& entry : dynamic) {
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return std::nullopt;
}

const Elf64_Phdr* LoaderView::Mapping(uint64_t address, uint64_t size, bool from_file) const {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t there = from_file ? segment.p_filesz : segment.p_memsz;
    const uint64_t before = address - segment.p_vaddr;
    if (before <= there && size <= there - before) return &segment;
  }
  return nullptr;
}

std::vector<std::string> LoaderView::Exports() const {
  std::vector<std::string> exports;
  for (const ElfSymbol& symbol : symbols) {
    const bool visible = symbol.visibility == STV_DEFAULT || symbol.visibility == STV_PROTECTED;
    if (symbol.section != SHN_UNDEF && symbol.binding != STB_LOCAL && visible && !symbol.name.empty())
      exports.push_back(symbol.name);
  }
  return exports;
}

std::optional<std::string> ReadAsLoader(std::string_view bytes, LoaderView& view) {
  view = {};
  return LoaderReader(bytes, view).Read();
}

}  // namespace assay
