// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "contract/signature.h"
#include "language/cpp/elf_file.h"
#include "language/cpp/toolchain.h"

namespace assay {
namespace {

// Zero-initialised memory of a kernel; well inside the memory that its process may have.
constexpr uint64_t kMaxZeroBytes = uint64_t{512} << 20;
// Relocations are applied before the first call; a table of a million of them is a way to burn load time.
constexpr size_t kMaxLoadRelocations = 65536;

bool Contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::optional<std::string> CheckExports(const ElfFile& elf, const FilePolicy& policy) {
  const std::vector<std::string> exports = elf.Exports();
  for (const std::string& name : exports) {
    if (Contains(policy.required_exports, name) || Contains(policy.allowed_exports, name)) continue;
    return fmt::format("exports {}: only the contract's entries may be visible; make it static", Printable(name));
  }
  for (const ElfSymbol& symbol : elf.dynamic_symbols()) {
    if (symbol.section != SHN_UNDEF && symbol.type == STT_GNU_IFUNC) {
      return fmt::format(
          "{} is resolved at load time (IFUNC): code would run before the first call; choose inside the function",
          Printable(symbol.name));
    }
  }
  return std::nullopt;
}

std::optional<std::string> CheckStartup(const ElfFile& elf) {
  struct Row {
    int64_t tag;
    std::string_view what;
  };
  constexpr Row kRows[] = {
      {DT_INIT, "an initialisation function (DT_INIT)"},   {DT_FINI, "a termination function (DT_FINI)"},
      {DT_INIT_ARRAY, "constructors (.init_array)"},       {DT_FINI_ARRAY, "destructors (.fini_array)"},
      {DT_PREINIT_ARRAY, "constructors (.preinit_array)"},
  };
  for (const Row& row : kRows) {
    if (!elf.HasDynamic(row.tag)) continue;
    return fmt::format(
        "has {}: no code may run before the first call; initialise inside the function, and use no global object with "
        "a constructor",
        row.what);
  }
  for (const ElfRelocation& relocation : elf.dynamic_relocations()) {
    switch (relocation.type) {
      case R_X86_64_IRELATIVE:
        return "has IRELATIVE relocations: code would run while loading; use no ifunc attribute and no target_clones";
      case R_X86_64_DTPMOD64:
      case R_X86_64_DTPOFF64:
      case R_X86_64_TPOFF64:
      case R_X86_64_TLSDESC:
        return "uses thread-local storage; keep per-thread data on the stack or in scratch";
      case R_X86_64_COPY:
        return fmt::format("copies {} from another object; declare it as the header does",
                           Printable(relocation.symbol));
      default:
        break;
    }
  }
  if (elf.dynamic_relocations().size() > kMaxLoadRelocations) {
    return fmt::format("has {} load-time relocations, above {}; shrink its tables of pointers",
                       elf.dynamic_relocations().size(), kMaxLoadRelocations);
  }
  return std::nullopt;
}

// What the linker would make code before the first call of, or refuse in words of its own.
std::optional<std::string> CheckSections(const ElfFile& elf) {
  for (const ElfSection& section : elf.sections()) {
    if (section.type == SHT_PREINIT_ARRAY)
      return "has constructors (.preinit_array): no code may run before the first call";
    if (section.name == ".note.GNU-stack" && (section.flags & SHF_EXECINSTR) != 0)
      return "asks for an executable stack; mark assembler with .note.GNU-stack as the compiler does";
    if ((section.flags & SHF_WRITE) != 0 && (section.flags & SHF_EXECINSTR) != 0)
      return fmt::format("has a section {} that is writable and executable; leave sections to the compiler",
                         Printable(section.name));
  }
  return std::nullopt;
}

std::optional<std::string> CheckSegments(const ElfFile& elf) {
  uint64_t zero_bytes = 0;
  bool has_stack = false;
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type == PT_TLS) return "uses thread-local storage; keep per-thread data on the stack or in scratch";
    if (segment.p_type == PT_INTERP) return "names a program interpreter; a kernel is a shared object";
    if (segment.p_type == PT_GNU_STACK) {
      has_stack = true;
      if ((segment.p_flags & PF_X) != 0)
        return "asks for an executable stack; use no nested functions, and mark assembler with .note.GNU-stack";
    }
    if (segment.p_type != PT_LOAD) continue;
    if ((segment.p_flags & PF_W) != 0 && (segment.p_flags & PF_X) != 0)
      return "has a segment that is writable and executable; leave sections to the compiler";
    if (segment.p_memsz < segment.p_filesz) return "has a segment smaller than its contents";
    const uint64_t extra = segment.p_memsz - segment.p_filesz;
    if (extra > kMaxZeroBytes || (zero_bytes += extra) > kMaxZeroBytes) {
      return fmt::format("asks for more than {} MiB of zeroed memory (.bss); ask for scratch through the contract",
                         kMaxZeroBytes >> 20);
    }
  }
  if (!has_stack) return "does not say that its stack is not executable; leave linking to the harness";
  return std::nullopt;
}

}  // namespace

FilePolicy PolicyFor(const Contract& contract, bool trusted_code, std::span<const std::string> library_sonames) {
  FilePolicy policy;
  for (ExportRule& rule : AllowedExports(contract, trusted_code)) {
    (rule.required ? policy.required_exports : policy.allowed_exports).push_back(std::move(rule.name));
  }
  policy.needed_libraries.assign(library_sonames.begin(), library_sonames.end());
  policy.trusted_code = trusted_code;
  return policy;
}

std::optional<std::string> CheckObject(std::string_view bytes, const FilePolicy& policy) {
  const auto elf = ElfFile::Parse(bytes);
  if (!elf || elf->type() != ET_REL) return "the compiler's output is no object file that can be read";
  if (policy.trusted_code) return std::nullopt;
  if (auto trouble = CheckSections(*elf)) return trouble;
  for (const ElfSymbol& symbol : elf->symbols()) {
    if (symbol.section == SHN_UNDEF || symbol.binding == STB_LOCAL || symbol.visibility == STV_HIDDEN ||
        symbol.visibility == STV_INTERNAL)
      continue;
    if (symbol.name.starts_with("_Z")) continue;  // C++ names stand in for nothing and become local when linked
    if (Contains(policy.required_exports, symbol.name) || Contains(policy.allowed_exports, symbol.name)) continue;
    return fmt::format(
        "exports {}: a name with C linkage besides the contract's entries could stand in for a library's function; "
        "make it static",
        Printable(symbol.name));
  }
  return std::nullopt;
}

std::optional<std::string> CheckSharedObject(std::string_view bytes, const FilePolicy& policy) {
  const auto elf = ElfFile::Parse(bytes);
  if (!elf || elf->type() != ET_DYN) return "the linker's output is no shared object that can be read";
  if (auto trouble = CheckExports(*elf, policy)) return trouble;
  if (policy.trusted_code) return std::nullopt;
  if (auto trouble = CheckStartup(*elf)) return trouble;
  if (auto trouble = CheckSegments(*elf)) return trouble;
  if (elf->HasDynamic(DT_TEXTREL) || (elf->Dynamic(DT_FLAGS).value_or(0) & DF_TEXTREL) != 0) {
    return "has relocations in its code (TEXTREL); address data relative to rip in assembler";
  }
  for (int64_t tag : {int64_t{DT_RPATH}, int64_t{DT_RUNPATH}, int64_t{DT_AUDIT}, int64_t{DT_DEPAUDIT},
                      int64_t{DT_FILTER}, int64_t{DT_AUXILIARY}}) {
    if (elf->HasDynamic(tag)) return "names further places or objects to load from; leave linking to the harness";
  }
  for (const std::string& needed : elf->Needed()) {
    if (IsRuntimeLibrary(needed) || Contains(policy.needed_libraries, needed)) continue;
    return fmt::format("needs {}, which the contract's policy does not list under libraries", Printable(needed));
  }
  return std::nullopt;
}

}  // namespace assay
