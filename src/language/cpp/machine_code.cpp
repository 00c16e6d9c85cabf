// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/machine_code.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "language/cpp/elf_file.h"
#include "sandbox/jail.h"

namespace assay {
namespace {

constexpr size_t kMaxArtifact = size_t{16} << 20;

// The sections whose bytes the kernel executes or reads.  Names of local symbols, comments, unwind
// tables, version notes and hashes are left out: they differ between equal kernels.
bool Counts(const ElfSection& section) {
  if ((section.flags & SHF_ALLOC) == 0) return false;
  if ((section.flags & SHF_EXECINSTR) != 0) return true;
  for (std::string_view prefix : {".rodata", ".data", ".bss", ".got"}) {
    if (section.name.starts_with(prefix)) return true;
  }
  return false;
}

bool IsTable(const ElfSection& section) { return section.name.starts_with(".got"); }

}  // namespace

// The linker lays equal inputs out equally, and everything inside the object is addressed relative to
// the instruction pointer; so equal kernels have equal bytes once what the loader will fill in (GOT
// entries, relocated words) is taken out and said by name instead.
Result<Digest> TwinOf(std::string_view shared_object) {
  const auto elf = ElfFile::Parse(shared_object);
  if (!elf || elf->type() != ET_DYN) return Error{ErrorCode::kCorrupt, "twin: this is no shared object"};
  RecordHash hash("twin");
  // Section starts name places; absolute addresses shift with the length of name tables before them.
  const auto place = [&](uint64_t address) {
    for (const ElfSection& section : elf->sections()) {
      if ((section.flags & SHF_ALLOC) != 0 && address >= section.address &&
          address < section.address + std::max<uint64_t>(section.size, 1)) {
        return fmt::format("{}+{}", section.name, address - section.address);
      }
    }
    return fmt::format("?{}", address);
  };
  for (const ElfSection& section : elf->sections()) {
    if (!Counts(section)) continue;
    hash.Add("section", section.name).Add("size", static_cast<int64_t>(section.size));
    if (IsTable(section) || section.type == SHT_NOBITS) continue;
    std::string bytes(section.bytes);
    for (const ElfRelocation& relocation : elf->dynamic_relocations()) {
      // Any 64-bit number may stand there: nothing is added to it.
      if (relocation.offset < section.address || bytes.size() < 8 ||
          relocation.offset - section.address > bytes.size() - 8)
        continue;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(relocation.offset - section.address), 8, '\0');
    }
    hash.Add("bytes", bytes);
  }
  std::vector<std::string> links;
  for (const ElfRelocation& relocation : elf->dynamic_relocations()) {
    const std::string target = relocation.type == R_X86_64_RELATIVE
                                   ? place(static_cast<uint64_t>(relocation.addend))
                                   : fmt::format("{}+{}", relocation.symbol, relocation.addend);
    links.push_back(fmt::format("{} {} {}", place(relocation.offset), relocation.type, target));
  }
  for (const ElfSymbol& symbol : elf->dynamic_symbols()) {
    if (symbol.section != SHN_UNDEF) links.push_back(fmt::format("export {} {}", symbol.name, place(symbol.value)));
  }
  std::sort(links.begin(), links.end());
  for (const std::string& link : links) hash.Add("link", link);
  return hash.Finish();
}

namespace {

struct Counters {
  int64_t instructions = 0, zmm = 0, ymm = 0, xmm = 0, fma = 0, calls = 0, stores_streamed = 0, gathers = 0;
};

void Count(std::string_view line, Counters& counters) {
  // "  11f0:\tvfmadd231ps %zmm1,%zmm2,%zmm3": address, tab, instruction.
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return;
  const std::string_view instruction = line.substr(tab + 1);
  ++counters.instructions;
  if (instruction.find("%zmm") != std::string_view::npos)
    ++counters.zmm;
  else if (instruction.find("%ymm") != std::string_view::npos)
    ++counters.ymm;
  else if (instruction.find("%xmm") != std::string_view::npos)
    ++counters.xmm;
  if (instruction.starts_with("vfmadd") || instruction.starts_with("vfnmadd") || instruction.starts_with("vfmsub") ||
      instruction.starts_with("vfnmsub")) {
    ++counters.fma;
  }
  if (instruction.starts_with("call")) ++counters.calls;
  if (instruction.starts_with("vmovnt") || instruction.starts_with("movnt")) ++counters.stores_streamed;
  if (instruction.starts_with("vgather") || instruction.starts_with("vpgather")) ++counters.gathers;
}

}  // namespace

// The disassembler runs in the build jail: it reads a hostile file.  Facts are hints for people and
// for search, never a verdict; without objdump there are fewer of them.
Inspection CppInspector::Inspect(const Artifact& artifact) {
  Inspection inspection;
  inspection.facts["compiler"] = artifact.compiler;
  auto bytes = ReadFile(artifact.path, kMaxArtifact);
  if (!bytes.ok()) return inspection;
  const auto elf = ElfFile::Parse(bytes.value());
  if (!elf) return inspection;
  uint64_t code = 0;
  for (const ElfSection& section : elf->sections()) {
    if ((section.flags & SHF_EXECINSTR) != 0) code += section.size;
  }
  inspection.facts["code_bytes"] = std::to_string(code);
  std::vector<std::string> imports;
  for (const ElfSymbol& symbol : elf->dynamic_symbols()) {
    if (symbol.section == SHN_UNDEF && !symbol.name.empty()) imports.push_back(Printable(symbol.name));
  }
  std::sort(imports.begin(), imports.end());
  inspection.facts["imports"] = Cut(Join(imports, " "), 400);
  if (::access("/usr/bin/objdump", X_OK) != 0) return inspection;
  JailSpec jail;
  jail.argv = {"/usr/bin/objdump", "-d", "--no-show-raw-insn", "-j", ".text", artifact.path.string()};
  jail.read_only = ToolchainPaths();
  jail.read_only.push_back(artifact.path);
  Limits limits;
  limits.output = size_t{8} << 20;
  limits.wall = std::chrono::milliseconds(2000);
  auto run = RunJailed(jail, limits);
  if (!run.ok() || run.value().outcome != Outcome(Exited{0})) return inspection;
  Counters counters;
  for (std::string_view line : Split(run.value().output, '\n')) {
    if (line.starts_with("  ")) Count(line, counters);
  }
  inspection.facts["vector_width"] = counters.zmm > 0   ? "512"
                                     : counters.ymm > 0 ? "256"
                                     : counters.xmm > 0 ? "128"
                                                        : "scalar";
  inspection.facts["fma"] = counters.fma > 0 ? "yes" : "no";
  const std::pair<const char*, int64_t> numbers[] = {{"instructions", counters.instructions},
                                                     {"zmm", counters.zmm},
                                                     {"ymm", counters.ymm},
                                                     {"xmm", counters.xmm},
                                                     {"fma_instructions", counters.fma},
                                                     {"calls", counters.calls},
                                                     {"streaming_stores", counters.stores_streamed},
                                                     {"gathers", counters.gathers}};
  for (const auto& [name, value] : numbers) inspection.facts[name] = std::to_string(value);
  return inspection;
}

}  // namespace assay
