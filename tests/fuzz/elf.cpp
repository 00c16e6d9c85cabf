// SPDX-License-Identifier: Apache-2.0
//
// Object files that a compiler made of a candidate's source, or that somebody put in its place; and shared objects from
// elsewhere, which the loader will read.
#include <algorithm>

#include "language/cpp/elf_file.h"
#include "language/cpp/loader_view.h"
#include "language/cpp/machine_code.h"
#include "language/cpp/policy.h"
#include "target.h"

namespace assay {
namespace {

// What the loader would do with a file that the policy lets through, said once more and in other words.
void HoldToPolicy(const LoaderView& view, size_t size) {
  uint64_t taken = 0;
  size_t dynamics = 0, stacks = 0;
  for (const Elf64_Phdr& segment : view.segments) {
    ASSAY_CHECK(segment.p_type != PT_TLS && segment.p_type != PT_INTERP);
    dynamics += segment.p_type == PT_DYNAMIC ? 1 : 0;
    stacks += segment.p_type == PT_GNU_STACK && (segment.p_flags & PF_X) == 0 ? 1 : 0;
    if (segment.p_type != PT_LOAD) continue;
    ASSAY_CHECK((segment.p_flags & (PF_W | PF_X)) != (PF_W | PF_X));
    ASSAY_CHECK(segment.p_offset + segment.p_filesz <= size && segment.p_filesz <= segment.p_memsz);
    ASSAY_CHECK(segment.p_vaddr / 4096 * 4096 >= taken && segment.p_vaddr % 4096 == segment.p_offset % 4096);
    taken = (segment.p_vaddr + segment.p_memsz + 4095) / 4096 * 4096;
  }
  ASSAY_CHECK(dynamics == 1 && stacks == 1 && taken <= (uint64_t{1} << 30) + 4096);
  for (const int64_t tag : {DT_INIT, DT_FINI, DT_INIT_ARRAY, DT_FINI_ARRAY, DT_PREINIT_ARRAY, DT_TEXTREL, DT_RPATH,
                            DT_RUNPATH, DT_AUDIT, DT_DEPAUDIT, DT_FILTER, DT_AUXILIARY, DT_REL})
    ASSAY_CHECK(!view.HasDynamic(tag));
  for (const LoaderRelocation& relocation : view.relocations) {
    if (relocation.type == R_X86_64_NONE) continue;
    ASSAY_CHECK(relocation.type == R_X86_64_RELATIVE || relocation.type == R_X86_64_64 ||
                relocation.type == R_X86_64_GLOB_DAT || relocation.type == R_X86_64_JUMP_SLOT);
    const Elf64_Phdr* place = view.Mapping(relocation.offset, 8, false);
    ASSAY_CHECK(place != nullptr && (place->p_flags & PF_W) != 0);
  }
  for (const ElfSymbol& symbol : view.symbols) {
    ASSAY_CHECK(symbol.type != STT_GNU_IFUNC && symbol.type != STT_TLS && symbol.binding != STB_GNU_UNIQUE);
    if (symbol.section == SHN_UNDEF || symbol.binding == STB_LOCAL) continue;
    const Elf64_Phdr* place = view.Mapping(symbol.value, 1, true);
    ASSAY_CHECK(symbol.name == "softmax_rows" && place != nullptr && (place->p_flags & PF_X) != 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::Text(data, size);
  FilePolicy policy;
  policy.required_exports = {"softmax_rows"};
  const auto object = CheckObject(bytes, policy);
  const auto shared = CheckSharedObject(bytes, policy);
  LoaderView view;
  const auto unreadable = ReadAsLoader(bytes, view);
  // What the loader could read in another way is refused, never waved through.
  ASSAY_CHECK(!unreadable || shared);
  if (!unreadable) {
    const auto missing = FindMissingEntry(bytes, policy);
    ASSAY_CHECK(missing.has_value() == view.Exports().empty() || shared);
    if (!shared) HoldToPolicy(view, size);
  }
  const auto twin = TwinOf(bytes);
  const auto file = ElfFile::Parse(bytes);
  if (!file) {
    ASSAY_CHECK(object && !twin.ok());
    return 0;
  }
  for (const ElfSection& section : file->sections()) {
    if (section.bytes.empty()) continue;
    ASSAY_CHECK(section.bytes.data() >= bytes.data() &&
                section.bytes.data() + section.bytes.size() <= bytes.data() + bytes.size());
  }
  static_cast<void>(file->Needed());
  static_cast<void>(file->Soname());
  return 0;
}

}  // namespace assay
