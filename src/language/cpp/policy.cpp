// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "contract/signature.h"
#include "language/cpp/elf_file.h"
#include "language/cpp/loader_view.h"
#include "language/cpp/toolchain.h"

namespace assay {
namespace {

// Zero-initialised memory of a kernel; well inside the memory that its process may have.
constexpr uint64_t kMaxZeroBytes = uint64_t{512} << 20;
// Relocations are applied before the first call; a table of a million of them is a way to burn load time.
constexpr size_t kMaxLoadRelocations = 65536;
// Addresses from the first byte to the last, holes between segments included.
constexpr uint64_t kMaxSpan = uint64_t{1} << 30;
// Stack tables beside .eh_frame, of newer linkers than the system header knows.
constexpr uint32_t kGnuSframe = 0x6474e554;

bool Contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Every symbol that relocations or lookups can lead to.
std::optional<std::string> CheckSymbols(const LoaderView& view) {
  for (const ElfSymbol& symbol : view.symbols) {
    const bool defined = symbol.section != SHN_UNDEF;
    switch (symbol.type) {
      case STT_GNU_IFUNC:
        return fmt::format(
            "has {}, which is resolved at load time (IFUNC): code would run before the first call; choose inside the "
            "function",
            Printable(symbol.name));
      case STT_TLS:
        return fmt::format("uses thread-local storage ({}); keep per-thread data on the stack or in scratch",
                           Printable(symbol.name));
      case STT_NOTYPE:
      case STT_OBJECT:
      case STT_FUNC:
      case STT_SECTION:
        break;
      default:
        return fmt::format("has a symbol {} of type {}, which no kernel needs", Printable(symbol.name), symbol.type);
    }
    if (symbol.binding != STB_LOCAL && symbol.binding != STB_GLOBAL && symbol.binding != STB_WEAK) {
      return fmt::format(
          "has a symbol {} of binding {}: one that is unique in the whole process would stand in for a library's; make "
          "it static",
          Printable(symbol.name), symbol.binding);
    }
    // The loader takes one with a value for a definition, where an address and no call is asked for.
    if (!defined && symbol.value != 0)
      return fmt::format("has a symbol {} that is not defined and has a value", Printable(symbol.name));
    if (defined && symbol.binding != STB_LOCAL &&
        (symbol.visibility == STV_HIDDEN || symbol.visibility == STV_INTERNAL || symbol.name.empty())) {
      return fmt::format("has a global symbol {} that is hidden or without a name; make it local",
                         Printable(symbol.name));
    }
    if (defined && (symbol.section >= SHN_LORESERVE || view.Mapping(symbol.value, 0, false) == nullptr))
      return fmt::format("has a symbol {} at {:#x}, outside of its own memory", Printable(symbol.name), symbol.value);
  }
  return std::nullopt;
}

std::optional<std::string> CheckExports(const LoaderView& view, const FilePolicy& policy) {
  for (const std::string& name : view.Exports()) {
    if (Contains(policy.required_exports, name) || Contains(policy.allowed_exports, name)) continue;
    return fmt::format(
        "exports {}: only the contract's entries may be visible; make it static, build with -fvisibility=hidden, or "
        "keep it local in a version script",
        Printable(name));
  }
  return std::nullopt;
}

// An entry is called, so it is code of this object, and one name leads to one of them.
std::optional<std::string> CheckEntries(const LoaderView& view) {
  std::vector<std::string> seen;
  for (const ElfSymbol& symbol : view.symbols) {
    if (symbol.section == SHN_UNDEF || symbol.binding == STB_LOCAL) continue;
    const Elf64_Phdr* load = view.Mapping(symbol.value, 1, true);
    if (symbol.type != STT_FUNC || load == nullptr || (load->p_flags & PF_X) == 0) {
      return fmt::format("exports {} at {:#x}, which is no function in its code; define it as a function",
                         Printable(symbol.name), symbol.value);
    }
    if (Contains(seen, symbol.name)) return fmt::format("exports {} twice", Printable(symbol.name));
    seen.push_back(symbol.name);
  }
  return std::nullopt;
}

std::optional<std::string> CheckStartup(const LoaderView& view) {
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
    if (!view.HasDynamic(row.tag)) continue;
    return fmt::format(
        "has {}: no code may run before the first call; initialise inside the function, use no global object with a "
        "constructor, and link with -nostartfiles",
        row.what);
  }
  return std::nullopt;
}

// Relocations write before the first call: only into the object's own data, only what is an address, and not into the
// dynamic segment, whose entries the loader reads again while it applies them.
std::optional<std::string> CheckRelocations(const LoaderView& view) {
  for (const LoaderRelocation& relocation : view.relocations) {
    switch (relocation.type) {
      case R_X86_64_NONE:
        continue;
      case R_X86_64_RELATIVE:
      case R_X86_64_64:
      case R_X86_64_GLOB_DAT:
      case R_X86_64_JUMP_SLOT:
        break;
      case R_X86_64_IRELATIVE:
        return "has IRELATIVE relocations: code would run while loading; use no ifunc attribute and no target_clones";
      case R_X86_64_DTPMOD64:
      case R_X86_64_DTPOFF64:
      case R_X86_64_TPOFF64:
      case R_X86_64_TLSDESC:
        return "uses thread-local storage; keep per-thread data on the stack or in scratch";
      case R_X86_64_COPY:
        return fmt::format("copies {} from another object; declare it as the header does",
                           Printable(view.symbols[relocation.symbol].name));
      default:
        return fmt::format("has a relocation of type {} at {:#x}; compile with -fPIC", relocation.type,
                           relocation.offset);
    }
    const Elf64_Phdr* load = view.Mapping(relocation.offset, sizeof(uint64_t), false);
    if (load == nullptr || (load->p_flags & PF_W) == 0)
      return fmt::format("has a relocation that writes at {:#x}, outside of its own data", relocation.offset);
    for (const Elf64_Phdr& segment : view.segments) {
      if (segment.p_type != PT_DYNAMIC || relocation.offset + sizeof(uint64_t) <= segment.p_vaddr ||
          relocation.offset >= segment.p_vaddr + segment.p_memsz)
        continue;
      return fmt::format("has a relocation that writes at {:#x}, into its dynamic segment", relocation.offset);
    }
  }
  if (view.relocations.size() > kMaxLoadRelocations) {
    return fmt::format("has {} load-time relocations, above {}; shrink its tables of pointers", view.relocations.size(),
                       kMaxLoadRelocations);
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

std::optional<std::string> CheckLoaded(const LoaderView& view) {
  uint64_t zero_bytes = 0, end = 0;
  for (const Elf64_Phdr& segment : view.segments) {
    if (segment.p_type != PT_LOAD) continue;
    const bool writable = (segment.p_flags & PF_W) != 0;
    if (writable && (segment.p_flags & PF_X) != 0) {
      return fmt::format("has a segment at {:#x} that is writable and executable; leave sections to the compiler",
                         segment.p_vaddr);
    }
    // Both were bounded when they were read; sums cannot wrap.
    const uint64_t extra = segment.p_memsz - segment.p_filesz;
    if ((zero_bytes += extra) > kMaxZeroBytes) {
      return fmt::format("asks for more than {} MiB of zeroed memory (.bss); ask for scratch through the contract",
                         kMaxZeroBytes >> 20);
    }
    if (extra > 0 && !writable)
      return fmt::format("has a segment at {:#x} with zeroed memory that nothing may write", segment.p_vaddr);
    end = segment.p_vaddr + segment.p_memsz;
  }
  if (end > kMaxSpan) return fmt::format("is spread over {:#x} bytes of addresses, above {} MiB", end, kMaxSpan >> 20);
  return std::nullopt;
}

std::optional<std::string> CheckSegments(const LoaderView& view) {
  bool has_stack = false;
  for (const Elf64_Phdr& segment : view.segments) {
    switch (segment.p_type) {
      case PT_NULL:
      case PT_LOAD:
      case PT_DYNAMIC:
      case PT_NOTE:
      case PT_PHDR:
      case PT_GNU_EH_FRAME:
      case PT_GNU_RELRO:
      case PT_GNU_PROPERTY:
      case kGnuSframe:
        break;
      case PT_TLS:
        return "uses thread-local storage; keep per-thread data on the stack or in scratch";
      case PT_INTERP:
        return "names a program interpreter; a kernel is a shared object";
      case PT_GNU_STACK:
        has_stack = true;
        if ((segment.p_flags & PF_X) != 0)
          return "asks for an executable stack; use no nested functions, and mark assembler with .note.GNU-stack";
        break;
      default:
        return fmt::format("has a segment of type {:#x}, which no kernel needs", segment.p_type);
    }
  }
  if (!has_stack) return "does not say that its stack is not executable; link with -z noexecstack";
  return CheckLoaded(view);
}

// All that ld.so knows of, and nothing of what it would do besides mapping, binding and relocating.  It recognises some
// by the lower half of their number alone, so a number that is not listed is refused whatever its name.
std::optional<std::string> CheckDynamic(const LoaderView& view) {
  constexpr int64_t kKnown[] = {DT_NEEDED,   DT_SONAME,     DT_STRTAB,  DT_STRSZ,     DT_SYMTAB,   DT_SYMENT,
                                DT_HASH,     DT_GNU_HASH,   DT_RELA,    DT_RELASZ,    DT_RELAENT,  DT_JMPREL,
                                DT_PLTRELSZ, DT_PLTREL,     DT_PLTGOT,  DT_RELACOUNT, DT_RELR,     DT_RELRSZ,
                                DT_RELRENT,  DT_FLAGS,      DT_FLAGS_1, DT_BIND_NOW,  DT_SYMBOLIC, DT_VERSYM,
                                DT_VERNEED,  DT_VERNEEDNUM, DT_VERDEF,  DT_VERDEFNUM};
  const uint64_t flags = view.Dynamic(DT_FLAGS).value_or(0), more = view.Dynamic(DT_FLAGS_1).value_or(0);
  if (view.HasDynamic(DT_TEXTREL) || (flags & DF_TEXTREL) != 0)
    return "has relocations in its code (TEXTREL); address data relative to rip in assembler, compile with -fPIC";
  if ((flags & DF_STATIC_TLS) != 0)
    return "uses thread-local storage (DF_STATIC_TLS); keep per-thread data on the stack or in scratch";
  for (int64_t tag : {int64_t{DT_RPATH}, int64_t{DT_RUNPATH}, int64_t{DT_AUDIT}, int64_t{DT_DEPAUDIT},
                      int64_t{DT_FILTER}, int64_t{DT_AUXILIARY}, int64_t{DT_CONFIG}}) {
    if (view.HasDynamic(tag))
      return fmt::format("names further places or objects to load from (dynamic entry {:#x}); link without", tag);
  }
  for (const Elf64_Dyn& entry : view.dynamic) {
    if (std::find(std::begin(kKnown), std::end(kKnown), entry.d_tag) != std::end(kKnown)) continue;
    return fmt::format("has a dynamic entry {:#x}, which no kernel needs; leave linking to the compiler", entry.d_tag);
  }
  // Bound at the first call, two words behind it would be written.
  if (const auto table = view.Dynamic(DT_PLTGOT)) {
    const Elf64_Phdr* load = view.Mapping(*table, sizeof(uint64_t), false);
    if (load == nullptr || (load->p_flags & PF_W) == 0)
      return fmt::format("has a DT_PLTGOT at {:#x}, outside of its own data", *table);
  }
  if ((flags & ~uint64_t{DF_BIND_NOW | DF_SYMBOLIC}) != 0 || (more & ~uint64_t{DF_1_NOW}) != 0) {
    return fmt::format("asks the loader for more than binding at once (DT_FLAGS {:#x}, DT_FLAGS_1 {:#x})", flags, more);
  }
  return std::nullopt;
}

std::optional<std::string> CheckLibraries(const LoaderView& view, const FilePolicy& policy) {
  const auto known = [&](const std::string& name) {
    return IsRuntimeLibrary(name) || Contains(policy.needed_libraries, name);
  };
  for (const std::string& needed : view.needed) {
    if (known(needed)) continue;
    return fmt::format("needs {}, which the contract's policy does not list under libraries", Printable(needed));
  }
  // Whoever asks for a library of that name later would be given this object.
  if (known(view.soname)) return fmt::format("gives itself the name of {}; link with another -soname", view.soname);
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
  LoaderView view;
  if (auto trouble = ReadAsLoader(bytes, view)) return trouble;
  if (auto trouble = CheckExports(view, policy)) return trouble;
  if (policy.trusted_code) return std::nullopt;
  for (const auto check : {CheckStartup, CheckSymbols, CheckEntries, CheckRelocations, CheckSegments, CheckDynamic}) {
    if (auto trouble = check(view)) return trouble;
  }
  return CheckLibraries(view, policy);
}

std::optional<std::string> FindMissingEntry(std::string_view bytes, const FilePolicy& policy) {
  LoaderView view;
  if (auto trouble = ReadAsLoader(bytes, view)) return trouble;
  const std::vector<std::string> exports = view.Exports();
  for (const std::string& name : policy.required_exports) {
    if (!Contains(exports, name))
      return fmt::format("does not export {}; define it as extern \"C\", visible from outside", name);
  }
  return std::nullopt;
}

}  // namespace assay
