// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "language/cpp/elf_file.h"

namespace assay {

struct LoaderRelocation {
  uint64_t offset = 0;
  uint32_t type = 0;
  uint32_t symbol = 0;  // index; 0: none
  int64_t addend = 0;
};

// A shared object as glibc's loader will see it: through its program headers and its one dynamic segment.  Section
// headers are not read, because the loader does not read them either.
struct LoaderView {
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Dyn> dynamic;             // up to its DT_NULL
  std::vector<ElfSymbol> symbols;             // by index, as many as its hash tables reach
  std::vector<LoaderRelocation> relocations;  // of DT_RELA, DT_JMPREL and DT_RELR
  std::vector<std::string> needed;
  std::string soname;

  std::optional<uint64_t> Dynamic(int64_t tag) const;
  bool HasDynamic(int64_t tag) const { return Dynamic(tag).has_value(); }
  // The PT_LOAD that holds all of these bytes; `from_file`: as bytes of the file, not as zeroed memory.
  const Elf64_Phdr* Mapping(uint64_t address, uint64_t size, bool from_file) const;
  // Defined, global or weak, visible from outside.
  std::vector<std::string> Exports() const;
};

// Fills `view` and returns nothing; or says what would be read in one way here and in another by the loader, or leads
// outside, or could change between this look and its use: then nobody knows what would be loaded.  What the object
// may be is another question (CheckSharedObject).
std::optional<std::string> ReadAsLoader(std::string_view bytes, LoaderView& view);

}  // namespace assay
