// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "language/cpp/compile.h"
#include "language/cpp/policy.h"
#include "language/cpp/toolchain.h"

namespace assay::testing {

// Every table that the loader knows: both hash tables, relative relocations, calls into two libraries, data, zeroed
// data.
inline constexpr const char* kObjectSource = R"(#include <math.h>
#include <stdlib.h>
static const char* volatile names[] = {"a", "b", "c"};
static volatile float kept[1024];
extern "C" void toy(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = expf(x[i]) + static_cast<float>(atoi(names[i % 3])) + kept[i % 1024];
}
)";

inline FilePolicy ObjectPolicy() {
  FilePolicy policy;
  policy.required_exports = {"toy"};
  return policy;
}

// "": there is no compiler.
inline const std::string& GoodObject() {
  static const std::string bytes = [] {
    if (!PrimaryToolchain().ok()) return std::string();
    CompileJob job;
    job.toolchain = &PrimaryToolchain().value();
    job.source = kObjectSource;
    job.flags = {"-O1"};
    job.link_flags = {"-Wl,--hash-style=both"};
    job.policy = ObjectPolicy();
    auto built = Compile(job);
    if (!built.ok()) return std::string();
    if (const auto* rejected = std::get_if<Rejected>(&built.value())) {
      ADD_FAILURE() << rejected->evidence;
      return std::string();
    }
    return std::get<CompiledFile>(std::move(built).value()).bytes;
  }();
  return bytes;
}

// A shared object to change byte by byte.  Indices and tags that are not there are a broken test, and throw.
class Forgery {
 public:
  explicit Forgery(std::string good) : bytes(std::move(good)) {}

  template <typename T>
  T Get(uint64_t offset) const {
    T value;
    std::memcpy(&value, &bytes.at(offset + sizeof(T) - 1) - (sizeof(T) - 1), sizeof(T));
    return value;
  }
  template <typename T>
  void Put(uint64_t offset, T value) {
    std::memcpy(&bytes.at(offset + sizeof(T) - 1) - (sizeof(T) - 1), &value, sizeof(T));
  }
  template <typename T>
  void Change(uint64_t offset, const std::function<void(T&)>& change) {
    T value = Get<T>(offset);
    change(value);
    Put(offset, value);
  }
  void Header(const std::function<void(Elf64_Ehdr&)>& change) { Change<Elf64_Ehdr>(0, change); }
  // The number-th segment of this type, in the order of the file.
  uint64_t SegmentAt(uint32_t type, int number = 0) const {
    const auto header = Get<Elf64_Ehdr>(0);
    for (uint64_t i = 0; i < header.e_phnum; ++i) {
      const uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
      if (Get<Elf64_Phdr>(at).p_type == type && number-- == 0) return at;
    }
    throw std::out_of_range("no such segment");
  }
  Elf64_Phdr Segment(uint32_t type) const { return Get<Elf64_Phdr>(SegmentAt(type)); }
  void Segment(uint32_t type, const std::function<void(Elf64_Phdr&)>& change) {
    Change<Elf64_Phdr>(SegmentAt(type), change);
  }
  // The loaded segment that has these rights.
  uint64_t LoadAt(uint32_t flags) const {
    for (int i = 0;; ++i) {
      const uint64_t at = SegmentAt(PT_LOAD, i);
      if (Get<Elf64_Phdr>(at).p_flags == flags) return at;
    }
  }
  Elf64_Phdr Load(uint32_t flags) const { return Get<Elf64_Phdr>(LoadAt(flags)); }
  void Load(uint32_t flags, const std::function<void(Elf64_Phdr&)>& change) {
    Change<Elf64_Phdr>(LoadAt(flags), change);
  }

  uint64_t EntryAt(int64_t tag) const {
    for (uint64_t at = Segment(PT_DYNAMIC).p_offset;; at += sizeof(Elf64_Dyn)) {
      const auto entry = Get<Elf64_Dyn>(at);
      if (entry.d_tag == tag) return at;
      if (entry.d_tag == DT_NULL) throw std::out_of_range("no such dynamic entry");
    }
  }
  uint64_t Dynamic(int64_t tag) const { return Get<Elf64_Dyn>(EntryAt(tag)).d_un.d_val; }
  void Dynamic(int64_t tag, uint64_t value) { Put(EntryAt(tag), Elf64_Dyn{tag, {value}}); }
  // Into the room that the linker leaves at the end of the segment.
  void Add(int64_t tag, uint64_t value) {
    const uint64_t at = EntryAt(DT_NULL);
    const Elf64_Phdr segment = Segment(PT_DYNAMIC);
    if (at + 2 * sizeof(Elf64_Dyn) > segment.p_offset + segment.p_filesz) throw std::out_of_range("no room");
    Put(at, Elf64_Dyn{tag, {value}});
  }
  uint64_t OffsetOf(uint64_t address) const {
    for (int i = 0;; ++i) {
      const auto load = Get<Elf64_Phdr>(SegmentAt(PT_LOAD, i));
      if (address >= load.p_vaddr && address < load.p_vaddr + load.p_filesz)
        return load.p_offset + (address - load.p_vaddr);
    }
  }
  uint64_t TableAt(int64_t tag) const { return OffsetOf(Dynamic(tag)); }
  // Of a name in the string table.
  uint64_t StringOf(const std::string& name) const {
    const std::string strings = bytes.substr(TableAt(DT_STRTAB), Dynamic(DT_STRSZ));
    const size_t at = strings.find('\0' + name + '\0');
    if (at == std::string::npos) throw std::out_of_range("no such string");
    return at + 1;
  }
  void Symbol(const std::string& name, const std::function<void(Elf64_Sym&)>& change) {
    const uint64_t wanted = StringOf(name);
    uint64_t at = TableAt(DT_SYMTAB);
    while (Get<Elf64_Sym>(at).st_name != wanted) at += sizeof(Elf64_Sym);
    Change<Elf64_Sym>(at, change);
  }
  void Relocation(int64_t table, const std::function<void(Elf64_Rela&)>& change) {
    Change<Elf64_Rela>(TableAt(table), change);
  }
  void RelocationType(int64_t table, uint32_t type) {
    Relocation(table, [type](Elf64_Rela& one) { one.r_info = ELF64_R_INFO(ELF64_R_SYM(one.r_info), type); });
  }
  // A segment that no loader needs becomes another.
  void Instead(const Elf64_Phdr& segment) { Put(SegmentAt(PT_GNU_EH_FRAME), segment); }
  void InsteadOfType(uint32_t type) {
    Segment(PT_GNU_EH_FRAME, [type](Elf64_Phdr& one) { one.p_type = type; });
  }
  void Strip() {
    Header([](Elf64_Ehdr& header) { header.e_shoff = header.e_shnum = header.e_shstrndx = 0; });
  }
  // Into a segment of its own behind all others, with one name more; gives its place in the table.
  uint64_t MoveStrings(const std::string& name) {
    const std::string strings = bytes.substr(TableAt(DT_STRTAB), Dynamic(DT_STRSZ)) + name + '\0';
    bytes.resize((bytes.size() + 4095) / 4096 * 4096);
    Elf64_Phdr segment = Load(PF_R);
    segment.p_offset = bytes.size();
    segment.p_vaddr = segment.p_paddr = 0x100000;
    segment.p_filesz = segment.p_memsz = strings.size();
    const uint64_t at = Dynamic(DT_STRSZ);
    Instead(segment);
    Dynamic(DT_STRTAB, segment.p_vaddr);
    Dynamic(DT_STRSZ, strings.size());
    bytes += strings;
    return at;
  }
  // A DT_RELR of two words, where the unwinder's table was.
  void Packed(uint64_t first, uint64_t second) {
    const Elf64_Phdr place = Segment(PT_GNU_EH_FRAME);
    Put(place.p_offset, first);
    Put(place.p_offset + sizeof first, second);
    Add(DT_RELR, place.p_vaddr);
    Add(DT_RELRSZ, sizeof first + sizeof second);
    Add(DT_RELRENT, sizeof first);
  }

  std::string bytes;
};

}  // namespace assay::testing
