// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/elf_file.h"

#include <cstring>

#include "language/cpp/elf_bytes.h"

namespace assay {
namespace {

// More of any of these no kernel has; a forged header must not make the reader eat memory.
constexpr uint64_t kMaxSections = 1 << 16;
constexpr uint64_t kMaxSegments = 256;
constexpr uint64_t kMaxSymbols = 1 << 20;
constexpr uint64_t kMaxRelocations = 1 << 20;

}  // namespace

std::optional<ElfFile> ElfFile::Parse(std::string_view bytes) {
  ElfFile file;
  file.bytes_ = bytes;
  const auto header = ReadStructure<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64) {
    return std::nullopt;
  }
  file.type_ = header->e_type;
  if (!file.ReadSections() || !file.ReadSegments() || !file.ReadDynamic()) return std::nullopt;
  for (const ElfSection& section : file.sections_) {
    if (section.type == SHT_SYMTAB && !file.ReadSymbols(section, file.symbols_)) return std::nullopt;
    if (section.type == SHT_DYNSYM && !file.ReadSymbols(section, file.dynamic_symbols_)) return std::nullopt;
  }
  if (file.type_ == ET_DYN) {
    for (const ElfSection& section : file.sections_) {
      if (section.type == SHT_RELA && (section.flags & SHF_ALLOC) != 0 && !file.ReadRelocations(section))
        return std::nullopt;
    }
  }
  return file;
}

bool ElfFile::ReadSections() {
  const auto header = *ReadStructure<Elf64_Ehdr>(bytes_, 0);
  if (header.e_shoff == 0) return true;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMaxSections) return false;
  std::vector<Elf64_Shdr> headers;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = ReadStructure<Elf64_Shdr>(bytes_, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return false;
    headers.push_back(*section);
  }
  if (header.e_shstrndx >= headers.size()) return headers.empty();
  const auto names = BytesAt(bytes_, headers[header.e_shstrndx].sh_offset, headers[header.e_shstrndx].sh_size);
  if (!names) return false;
  for (const Elf64_Shdr& section : headers) {
    std::string_view content;
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL) {
      const auto slice = BytesAt(bytes_, section.sh_offset, section.sh_size);
      if (!slice) return false;
      content = *slice;
    }
    sections_.push_back({StringAt(*names, section.sh_name), section.sh_type, section.sh_flags, section.sh_addr,
                         section.sh_size, section.sh_link, content});
  }
  return true;
}

bool ElfFile::ReadSegments() {
  const auto header = *ReadStructure<Elf64_Ehdr>(bytes_, 0);
  if (header.e_phoff == 0) return true;
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMaxSegments) return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = ReadStructure<Elf64_Phdr>(bytes_, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment || !BytesAt(bytes_, segment->p_offset, segment->p_filesz)) return false;
    segments_.push_back(*segment);
  }
  return true;
}

// From the segment, as the loader does; section headers could say anything.
bool ElfFile::ReadDynamic() {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = ReadStructure<Elf64_Dyn>(bytes_, segment.p_offset + at);
      if (!entry) return false;
      if (entry->d_tag == DT_NULL) break;
      dynamic_.push_back(*entry);
    }
  }
  const auto strings = Dynamic(DT_STRTAB), size = Dynamic(DT_STRSZ);
  if (!strings || !size) return dynamic_.empty();
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || *strings < segment.p_vaddr || *strings - segment.p_vaddr >= segment.p_filesz)
      continue;
    const auto slice = BytesAt(bytes_, segment.p_offset + (*strings - segment.p_vaddr), *size);
    if (!slice) return false;
    dynamic_strings_ = *slice;
    return true;
  }
  return false;
}

bool ElfFile::ReadSymbols(const ElfSection& section, std::vector<ElfSymbol>& out) {
  if (section.link >= sections_.size() || section.bytes.size() / sizeof(Elf64_Sym) > kMaxSymbols) return false;
  const std::string_view names = sections_[section.link].bytes;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.bytes.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = *ReadStructure<Elf64_Sym>(section.bytes, at);
    out.push_back({StringAt(names, symbol.st_name), static_cast<unsigned char>(ELF64_ST_BIND(symbol.st_info)),
                   static_cast<unsigned char>(ELF64_ST_TYPE(symbol.st_info)),
                   static_cast<unsigned char>(ELF64_ST_VISIBILITY(symbol.st_other)), symbol.st_shndx, symbol.st_value});
  }
  return true;
}

bool ElfFile::ReadRelocations(const ElfSection& section) {
  if (section.bytes.size() / sizeof(Elf64_Rela) > kMaxRelocations) return false;
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.bytes.size(); at += sizeof(Elf64_Rela)) {
    const auto relocation = *ReadStructure<Elf64_Rela>(section.bytes, at);
    const uint64_t symbol = ELF64_R_SYM(relocation.r_info);
    relocations_.push_back({relocation.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info)),
                            symbol < dynamic_symbols_.size() ? dynamic_symbols_[symbol].name : std::string("?"),
                            relocation.r_addend});
  }
  return true;
}

std::optional<uint64_t> ElfFile::Dynamic(int64_t tag) const {
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return std::nullopt;
}

bool ElfFile::HasDynamic(int64_t tag) const { return Dynamic(tag).has_value(); }

std::string ElfFile::DynamicString(uint64_t offset) const { return StringAt(dynamic_strings_, offset); }

std::vector<std::string> ElfFile::Needed() const {
  std::vector<std::string> needed;
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == DT_NEEDED) needed.push_back(DynamicString(entry.d_un.d_val));
  }
  return needed;
}

std::string ElfFile::Soname() const {
  const auto offset = Dynamic(DT_SONAME);
  return offset ? DynamicString(*offset) : std::string();
}

std::vector<std::string> ElfFile::Exports() const {
  std::vector<std::string> exports;
  for (const ElfSymbol& symbol : dynamic_symbols_) {
    const bool visible = symbol.visibility == STV_DEFAULT || symbol.visibility == STV_PROTECTED;
    if (symbol.section != SHN_UNDEF && symbol.binding != STB_LOCAL && visible && !symbol.name.empty())
      exports.push_back(symbol.name);
  }
  return exports;
}

}  // namespace assay
