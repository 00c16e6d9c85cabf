// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct ElfSection {
  std::string name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint32_t link = 0;
  std::string_view bytes;  // empty for SHT_NOBITS
};

struct ElfSymbol {
  std::string name;
  unsigned char binding = 0, type = 0, visibility = 0;
  uint16_t section = 0;  // SHN_UNDEF: not defined here
  uint64_t value = 0;
};

struct ElfRelocation {
  uint64_t offset = 0;
  uint32_t type = 0;
  std::string symbol;
  int64_t addend = 0;
};

// A 64-bit x86 ELF file, read defensively: the bytes come out of a build of hostile source.  Every
// offset is checked; Parse gives nothing when one of them leads outside.  Views into the bytes given.
class ElfFile {
 public:
  static std::optional<ElfFile> Parse(std::string_view bytes);

  uint16_t type() const { return type_; }  // ET_REL, ET_DYN
  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Elf64_Dyn>& dynamic() const { return dynamic_; }
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }                  // .symtab
  const std::vector<ElfSymbol>& dynamic_symbols() const { return dynamic_symbols_; }  // .dynsym
  const std::vector<ElfRelocation>& dynamic_relocations() const { return relocations_; }

  bool HasDynamic(int64_t tag) const;
  std::optional<uint64_t> Dynamic(int64_t tag) const;
  std::vector<std::string> Needed() const;
  std::string Soname() const;
  // Defined, global or weak, visible from outside.
  std::vector<std::string> Exports() const;

 private:
  bool ReadSections();
  bool ReadSegments();
  bool ReadDynamic();
  bool ReadSymbols(const ElfSection& section, std::vector<ElfSymbol>& out);
  bool ReadRelocations(const ElfSection& section);
  std::string DynamicString(uint64_t offset) const;

  std::string_view bytes_;
  uint16_t type_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
  std::vector<ElfSymbol> symbols_, dynamic_symbols_;
  std::vector<ElfRelocation> relocations_;
  std::string_view dynamic_strings_;
};

}  // namespace assay
