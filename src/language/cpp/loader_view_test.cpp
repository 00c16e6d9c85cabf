// SPDX-License-Identifier: Apache-2.0
//
// Hostile shared objects: a good one, changed byte by byte to what a linker would never write.
#include "language/cpp/loader_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/file.h"
#include "language/cpp/builder.h"
#include "language/cpp/policy.h"
#include "language/testing/forgery.h"
#include "language/testing/toy_contract.h"

namespace assay {
namespace {

using testing::Forgery;
using testing::GoodObject;
using ::testing::HasSubstr;

struct ForgeryRow {
  const char* name;
  std::function<void(Forgery&)> forge;
  const char* evidence;  // "": accepted
};

// Two readings of one file.
const ForgeryRow kReadings[] = {
    {"stripped of its section table", [](Forgery& f) { f.Strip(); }, ""},
    {"a section table that makes no sense", [](Forgery& f) { f.Header([](Elf64_Ehdr& h) { h.e_shoff = 7; }); }, ""},
    {"constructors that no section table shows",
     [](Forgery& f) {
       f.Strip();
       f.Add(DT_INIT_ARRAY, f.Load(PF_R | PF_W).p_vaddr);
       f.Add(DT_INIT_ARRAYSZ, 8);
     },
     "has constructors (.init_array)"},
    {"a second dynamic segment", [](Forgery& f) { f.Instead(f.Segment(PT_DYNAMIC)); }, "has 2 segments PT_DYNAMIC"},
    {"no dynamic segment", [](Forgery& f) { f.Segment(PT_DYNAMIC, [](Elf64_Phdr& p) { p.p_type = PT_NULL; }); },
     "no dynamic segment"},
    {"a dynamic segment that is cut short",
     [](Forgery& f) {
       f.Add(DT_INIT, f.Load(PF_R | PF_X).p_vaddr);
       f.Segment(PT_DYNAMIC, [&](Elf64_Phdr& p) { p.p_filesz = p.p_memsz = f.EntryAt(DT_INIT) - p.p_offset; });
     },
     "without DT_NULL"},
    {"a dynamic segment that is longer in memory",
     [](Forgery& f) { f.Segment(PT_DYNAMIC, [](Elf64_Phdr& p) { p.p_memsz += 16; }); }, "bytes in memory and"},
    {"a dynamic segment elsewhere in the file",
     [](Forgery& f) { f.Segment(PT_DYNAMIC, [](Elf64_Phdr& p) { p.p_offset -= 16; }); }, "not what is mapped there"},
    {"a dynamic segment in zeroed memory",
     [](Forgery& f) {
       f.Segment(PT_DYNAMIC,
                 [&](Elf64_Phdr& p) { p.p_vaddr = f.Load(PF_R | PF_W).p_vaddr + f.Load(PF_R | PF_W).p_filesz; });
     },
     "not what is mapped there"},
    {"a dynamic segment off its alignment",
     [](Forgery& f) {
       f.Segment(PT_DYNAMIC, [](Elf64_Phdr& p) { p.p_vaddr += 4, p.p_offset += 4, p.p_filesz -= 4, p.p_memsz -= 4; });
     },
     "not aligned"},
    {"one entry twice", [](Forgery& f) { f.Add(DT_SYMTAB, f.Dynamic(DT_SYMTAB)); }, "two dynamic entries 0x6"},
    {"many program headers", [](Forgery& f) { f.Header([](Elf64_Ehdr& h) { h.e_phnum = 0xffff; }); },
     "has 65535 program headers"},
    {"program headers at an odd place", [](Forgery& f) { f.Header([](Elf64_Ehdr& h) { h.e_phoff += 1; }); }, "at 0x41"},
    {"program headers behind the end",
     [](Forgery& f) { f.Header([&](Elf64_Ehdr& h) { h.e_phoff = f.bytes.size() / 8 * 8; }); }, "beyond its end"},
    {"program headers that are not mapped first",
     [](Forgery& f) {
       const auto header = f.Get<Elf64_Ehdr>(0);
       const std::string headers = f.bytes.substr(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
       f.bytes.resize((f.bytes.size() + 7) / 8 * 8);
       f.Header([&](Elf64_Ehdr& h) { h.e_phoff = f.bytes.size(); });
       f.bytes += headers;
     },
     "does not begin with the file and hold its program headers"},
    {"a PT_PHDR that is something else", [](Forgery& f) { f.InsteadOfType(PT_PHDR); }, "not its program headers"},
    {"notes without an end", [](Forgery& f) { f.InsteadOfType(PT_NOTE); }, "leads beyond its segment (PT_NOTE)"},
    {"no object", [](Forgery& f) { f.Header([](Elf64_Ehdr& h) { h.e_type = ET_EXEC; }); }, "is no shared object"},
};

const ForgeryRow kSegments[] = {
    {"writable and executable", [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_flags |= PF_X; }); },
     "writable and executable"},
    {"headers that cannot be read", [](Forgery& f) { f.Load(PF_R, [](Elf64_Phdr& p) { p.p_flags = 0; }); },
     "cannot be read"},
    {"writable headers", [](Forgery& f) { f.Load(PF_R, [](Elf64_Phdr& p) { p.p_flags |= PF_W; }); },
     "first segment that can be written"},
    {"mapped over another", [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_vaddr -= 0x2000; }); },
     "would be mapped over them"},
    {"not in order",
     [](Forgery& f) {
       const uint64_t code = f.LoadAt(PF_R | PF_X), data = f.LoadAt(PF_R | PF_W);
       const auto first = f.Get<Elf64_Phdr>(code), second = f.Get<Elf64_Phdr>(data);
       f.Put(code, second);
       f.Put(data, first);
     },
     "would be mapped over them"},
    {"an alignment that is no power of two",
     [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_align = 0x3000; }); }, "alignment of 0x3000"},
    {"no alignment", [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_align = 0; }); }, "alignment of 0x0"},
    {"address and offset apart", [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_offset -= 8; }); },
     "does not fit its alignment"},
    {"smaller in memory", [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_memsz = p.p_filesz - 1; }); },
     "smaller than its contents"},
    {"longer than the file",
     [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_filesz = uint64_t{1} << 40; }); }, "beyond its end"},
    {"huge in memory", [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_memsz = ~uint64_t{0}; }); },
     "far beyond what a kernel needs"},
    {"large in memory", [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_memsz = uint64_t{1} << 30; }); },
     "zeroed memory (.bss)"},
    {"far away", [](Forgery& f) { f.Load(PF_R | PF_W, [](Elf64_Phdr& p) { p.p_vaddr += uint64_t{1} << 45; }); },
     "far beyond what a kernel needs"},
    {"zeroed code", [](Forgery& f) { f.Load(PF_R | PF_X, [](Elf64_Phdr& p) { p.p_memsz += 16; }); },
     "zeroed memory that nothing may write"},
    {"thread-local storage", [](Forgery& f) { f.InsteadOfType(PT_TLS); }, "thread-local storage"},
    {"an interpreter", [](Forgery& f) { f.InsteadOfType(PT_INTERP); }, "program interpreter"},
    {"unheard of", [](Forgery& f) { f.InsteadOfType(0x65a3dbe6); }, "segment of type 0x65a3dbe6"},
    {"an executable stack", [](Forgery& f) { f.Segment(PT_GNU_STACK, [](Elf64_Phdr& p) { p.p_flags |= PF_X; }); },
     "asks for an executable stack"},
    {"nothing about the stack", [](Forgery& f) { f.Segment(PT_GNU_STACK, [](Elf64_Phdr& p) { p.p_type = PT_NULL; }); },
     "does not say that its stack"},
    {"protects somebody else's memory",
     [](Forgery& f) { f.Segment(PT_GNU_RELRO, [](Elf64_Phdr& p) { p.p_memsz = 0x100000; }); },
     "PT_GNU_RELRO of 0x100000"},
    {"protects its code", [](Forgery& f) { f.Segment(PT_GNU_RELRO, [](Elf64_Phdr& p) { p.p_vaddr = 0; }); },
     "PT_GNU_RELRO"},
};

const ForgeryRow kEntries[] = {
    {"an initialiser", [](Forgery& f) { f.Add(DT_INIT, 0x1000); }, "DT_INIT"},
    {"a termination function", [](Forgery& f) { f.Add(DT_FINI, 0x1000); }, "DT_FINI"},
    {"destructors", [](Forgery& f) { f.Add(DT_FINI_ARRAY, 0x1000); }, ".fini_array"},
    {"early constructors", [](Forgery& f) { f.Add(DT_PREINIT_ARRAY, 0x1000); }, ".preinit_array"},
    {"relocated code", [](Forgery& f) { f.Add(DT_TEXTREL, 0); }, "TEXTREL"},
    {"a place to load from", [](Forgery& f) { f.Add(DT_RUNPATH, 1); }, "further places"},
    {"an auditor", [](Forgery& f) { f.Add(DT_AUDIT, 1); }, "further places"},
    {"a filter by the lower half of its number", [](Forgery& f) { f.Add(0x17fffffff, 1); }, "entry 0x17fffffff"},
    {"another kind of relocation", [](Forgery& f) { f.Add(DT_REL, 0x1000); }, "dynamic entry 0x11"},
    {"a size without a table", [](Forgery& f) { f.Add(DT_INIT_ARRAYSZ, 8); }, "dynamic entry 0x1b"},
    {"to be first", [](Forgery& f) { f.Dynamic(DT_FLAGS_1, DF_1_NOW | DF_1_INITFIRST); }, "DT_FLAGS_1 0x21"},
    {"a team's own storage", [](Forgery& f) { f.Dynamic(DT_FLAGS, DF_STATIC_TLS); }, "DF_STATIC_TLS"},
    {"a foreign library", [](Forgery& f) { f.Dynamic(DT_NEEDED, f.StringOf("toy")); }, "has a DT_VERNEED for lib"},
    {"one more library", [](Forgery& f) { f.Add(DT_NEEDED, f.StringOf("toy")); }, "needs toy, which the contract's"},
    {"a library without name", [](Forgery& f) { f.Add(DT_NEEDED, uint64_t{1} << 40); }, "outside of its string table"},
    {"the name of a library", [](Forgery& f) { f.Add(DT_SONAME, f.StringOf("libm.so.6")); }, "the name of libm.so.6"},
    {"a name of its own", [](Forgery& f) { f.Add(DT_SONAME, f.StringOf("toy")); }, ""},
    {"a table of calls in its code", [](Forgery& f) { f.Dynamic(DT_PLTGOT, f.Load(PF_R | PF_X).p_vaddr); },
     "DT_PLTGOT"},
    {"strings in its data",
     [](Forgery& f) {
       f.Dynamic(DT_STRTAB, f.Load(PF_R | PF_W).p_vaddr);
       f.Dynamic(DT_STRSZ, 8);
     },
     "has a DT_STRTAB"},
    {"symbols in its data", [](Forgery& f) { f.Dynamic(DT_SYMTAB, f.Load(PF_R | PF_W).p_vaddr); }, "has a DT_SYMTAB"},
    {"symbols behind its end", [](Forgery& f) { f.Dynamic(DT_SYMTAB, uint64_t{1} << 33); }, "has a DT_SYMTAB"},
    {"small symbols", [](Forgery& f) { f.Dynamic(DT_SYMENT, 8); }, "no symbol table"},
    {"strings that do not end", [](Forgery& f) { f.Dynamic(DT_STRSZ, f.Dynamic(DT_STRSZ) - 1); },
     "one that does not end"},
};

const ForgeryRow kSymbols[] = {
    {"a count that lies", [](Forgery& f) { f.Change<uint32_t>(f.TableAt(DT_HASH) + 4, [](uint32_t& n) { ++n; }); },
     "symbols by its DT_HASH"},
    {"a count that is too small", [](Forgery& f) { f.Put<uint32_t>(f.TableAt(DT_HASH) + 4, 2); }, "of 2"},
    {"a huge count", [](Forgery& f) { f.Put<uint32_t>(f.TableAt(DT_HASH) + 4, 0x7fffffff); }, "has a DT_HASH"},
    {"no buckets", [](Forgery& f) { f.Put<uint32_t>(f.TableAt(DT_HASH), 0); }, "has a DT_HASH without buckets"},
    {"no buckets in the other", [](Forgery& f) { f.Put<uint32_t>(f.TableAt(DT_GNU_HASH), 0); }, "has a DT_GNU_HASH"},
    {"a filter of three words", [](Forgery& f) { f.Put<uint32_t>(f.TableAt(DT_GNU_HASH) + 8, 3); },
     "has a DT_GNU_HASH"},
    {"a circle",
     [](Forgery& f) {
       const uint64_t at = f.TableAt(DT_HASH);
       const auto buckets = f.Get<uint32_t>(at), symbols = f.Get<uint32_t>(at + 4);
       for (uint64_t i = 1; i < symbols; ++i) f.Put(at + 8 + 4 * (buckets + i), static_cast<uint32_t>(i));
     },
     "twice"},
    {"a chain without end",
     [](Forgery& f) {
       const uint64_t at = f.TableAt(DT_GNU_HASH);
       const uint64_t chain = at + 16 + 8 * uint64_t{f.Get<uint32_t>(at + 8)} + 4 * uint64_t{f.Get<uint32_t>(at)};
       for (uint64_t i = chain; i < f.Load(PF_R).p_filesz; i += 4) f.Put<uint32_t>(i, 2);
     },
     "DT_"},
    {"neither table",
     [](Forgery& f) {
       f.Put(f.EntryAt(DT_HASH), Elf64_Dyn{DT_BIND_NOW, {0}});
       f.Put(f.EntryAt(DT_GNU_HASH), Elf64_Dyn{DT_VERDEFNUM, {0}});
     },
     "no DT_HASH and no DT_GNU_HASH"},
    {"one of them alone",
     [](Forgery& f) {
       f.Put(f.EntryAt(DT_HASH), Elf64_Dyn{DT_BIND_NOW, {0}});
     },
     ""},
    {"the other alone",
     [](Forgery& f) {
       f.Put(f.EntryAt(DT_GNU_HASH), Elf64_Dyn{DT_BIND_NOW, {0}});
     },
     ""},
    {"something at place 0", [](Forgery& f) { f.Put<uint8_t>(f.TableAt(DT_SYMTAB) + 4, STT_GNU_IFUNC); },
     "first symbol that is not empty"},
    {"another export",
     [](Forgery& f) {
       f.Symbol("expf", [&](Elf64_Sym& s) { s.st_shndx = 1, s.st_value = f.Load(PF_R | PF_X).p_vaddr; });
     },
     "exports expf"},
    {"a hidden one",
     [](Forgery& f) {
       f.Symbol("expf", [&](Elf64_Sym& s) {
         s.st_shndx = 1, s.st_value = f.Load(PF_R | PF_X).p_vaddr, s.st_other = STV_HIDDEN;
       });
     },
     "expf that is hidden"},
    {"chosen while loading",
     [](Forgery& f) { f.Symbol("toy", [](Elf64_Sym& s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC); }); },
     "IFUNC"},
    {"for each thread",
     [](Forgery& f) { f.Symbol("expf", [](Elf64_Sym& s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS); }); },
     "thread-local storage (expf)"},
    {"common",
     [](Forgery& f) { f.Symbol("toy", [](Elf64_Sym& s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_COMMON); }); },
     "of type 5"},
    {"unique in the process",
     [](Forgery& f) { f.Symbol("toy", [](Elf64_Sym& s) { s.st_info = ELF64_ST_INFO(STB_GNU_UNIQUE, STT_FUNC); }); },
     "of binding 10"},
    {"an absolute entry", [](Forgery& f) { f.Symbol("toy", [](Elf64_Sym& s) { s.st_shndx = SHN_ABS; }); },
     "outside of its own memory"},
    {"an entry elsewhere", [](Forgery& f) { f.Symbol("toy", [](Elf64_Sym& s) { s.st_value = uint64_t{1} << 32; }); },
     "outside of its own memory"},
    {"an entry in data",
     [](Forgery& f) { f.Symbol("toy", [&](Elf64_Sym& s) { s.st_value = f.Load(PF_R | PF_W).p_vaddr; }); },
     "no function in its code"},
    {"an entry that is data",
     [](Forgery& f) { f.Symbol("toy", [](Elf64_Sym& s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT); }); },
     "no function in its code"},
    {"a name outside", [](Forgery& f) { f.Symbol("expf", [](Elf64_Sym& s) { s.st_name = 1U << 30; }); },
     "with a name outside"},
    {"defined in the eyes of some",
     [](Forgery& f) { f.Symbol("expf", [&](Elf64_Sym& s) { s.st_value = f.Load(PF_R | PF_X).p_vaddr; }); },
     "expf that is not defined and has a value"},
    {"a name without end",
     [](Forgery& f) {
       const auto at = static_cast<Elf64_Word>(f.MoveStrings(std::string(5000, 'x')));
       f.Symbol("expf", [at](Elf64_Sym& s) { s.st_name = at; });
     },
     "or endless"},
    {"a long name",
     [](Forgery& f) {
       const auto at = static_cast<Elf64_Word>(f.MoveStrings(std::string(4000, 'x')));
       f.Symbol("expf", [at](Elf64_Sym& s) { s.st_name = at; });
     },
     ""},
    {"a version of nobody's", [](Forgery& f) { f.Put<uint16_t>(f.TableAt(DT_VERSYM) + 2, 77); }, "version 77"},
    {"versions without numbers",
     [](Forgery& f) {
       f.Put(f.EntryAt(DT_VERSYM), Elf64_Dyn{DT_BIND_NOW, {0}});
     },
     "without the other"},
    {"versions of a library that it does not need",
     [](Forgery& f) {
       f.Change<Elf64_Verneed>(f.TableAt(DT_VERNEED),
                               [&](Elf64_Verneed& v) { v.vn_file = static_cast<Elf64_Word>(f.StringOf("toy")); });
     },
     "DT_VERNEED for toy"},
    {"versions that lead outside",
     [](Forgery& f) {
       f.Change<Elf64_Verneed>(f.TableAt(DT_VERNEED), [](Elf64_Verneed& v) { v.vn_next = 0x7fffffff; });
     },
     "DT_VERNEED that cannot be read"},
};

const ForgeryRow kRelocations[] = {
    {"code runs for a call", [](Forgery& f) { f.RelocationType(DT_JMPREL, R_X86_64_IRELATIVE); }, "IRELATIVE"},
    {"code runs for an address",
     [](Forgery& f) { f.Dynamic(DT_RELACOUNT, 0), f.RelocationType(DT_RELA, R_X86_64_IRELATIVE); }, "IRELATIVE"},
    {"copied data", [](Forgery& f) { f.RelocationType(DT_JMPREL, R_X86_64_COPY); }, "from another object"},
    {"storage of a thread", [](Forgery& f) { f.RelocationType(DT_JMPREL, R_X86_64_TPOFF64); }, "thread-local"},
    {"a described storage", [](Forgery& f) { f.RelocationType(DT_JMPREL, R_X86_64_TLSDESC); }, "thread-local"},
    {"a distance", [](Forgery& f) { f.RelocationType(DT_JMPREL, R_X86_64_PC32); }, "relocation of type 2"},
    {"nothing", [](Forgery& f) { f.RelocationType(DT_JMPREL, R_X86_64_NONE); }, ""},
    {"into its code",
     [](Forgery& f) { f.Relocation(DT_RELA, [&](Elf64_Rela& r) { r.r_offset = f.Load(PF_R | PF_X).p_vaddr; }); },
     "outside of its own data"},
    {"into its headers", [](Forgery& f) { f.Relocation(DT_RELA, [](Elf64_Rela& r) { r.r_offset = 64; }); },
     "outside of its own data"},
    {"into somebody's data",
     [](Forgery& f) { f.Relocation(DT_JMPREL, [](Elf64_Rela& r) { r.r_offset = ~uint64_t{15}; }); },
     "outside of its own data"},
    {"across its end",
     [](Forgery& f) {
       const Elf64_Phdr data = f.Load(PF_R | PF_W);
       f.Relocation(DT_RELA, [&](Elf64_Rela& r) { r.r_offset = data.p_vaddr + data.p_memsz - 7; });
     },
     "outside of its own data"},
    {"into zeroed data",
     [](Forgery& f) {
       const Elf64_Phdr data = f.Load(PF_R | PF_W);
       f.Relocation(DT_RELA, [&](Elf64_Rela& r) { r.r_offset = data.p_vaddr + data.p_memsz - 8; });
     },
     ""},
    {"into what the loader reads next",
     [](Forgery& f) { f.Relocation(DT_RELA, [&](Elf64_Rela& r) { r.r_offset = f.Segment(PT_DYNAMIC).p_vaddr + 8; }); },
     "into its dynamic segment"},
    {"of a symbol that there is not",
     [](Forgery& f) {
       f.Relocation(DT_JMPREL, [](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(9999, R_X86_64_JUMP_SLOT); });
     },
     "names symbol 9999"},
    {"taken for relative", [](Forgery& f) { f.Dynamic(DT_RELACOUNT, 1), f.RelocationType(DT_RELA, R_X86_64_64); },
     "DT_RELACOUNT"},
    {"more relative than there are", [](Forgery& f) { f.Dynamic(DT_RELACOUNT, 9999); }, "DT_RELACOUNT of 9999"},
    {"a table in data", [](Forgery& f) { f.Dynamic(DT_JMPREL, f.Load(PF_R | PF_W).p_vaddr); }, "has a DT_JMPREL"},
    {"a table without end", [](Forgery& f) { f.Dynamic(DT_RELASZ, 24 * uint64_t{1 << 20}); }, "has a DT_RELA of"},
    {"an empty table nowhere",
     [](Forgery& f) {
       f.Dynamic(DT_RELASZ, 0);
       f.Dynamic(DT_RELACOUNT, 0);
       f.Dynamic(DT_RELA, 0);
     },
     ""},
    {"a part of an entry", [](Forgery& f) { f.Dynamic(DT_RELASZ, f.Dynamic(DT_RELASZ) - 1); }, "a part of an entry"},
    {"of no size",
     [](Forgery& f) {
       f.Put(f.EntryAt(DT_RELAENT), Elf64_Dyn{DT_BIND_NOW, {0}});
     },
     "or of none"},
    {"of another size", [](Forgery& f) { f.Dynamic(DT_RELAENT, 16); }, "of another kind"},
    {"packed, into its data", [](Forgery& f) { f.Packed(f.Dynamic(DT_PLTGOT), 3); }, ""},
    {"packed, into its code", [](Forgery& f) { f.Packed(f.Load(PF_R | PF_X).p_vaddr, 1); }, "outside of its own data"},
    {"packed, behind its data",
     [](Forgery& f) {
       const Elf64_Phdr data = f.Load(PF_R | PF_W);
       f.Packed((data.p_vaddr + data.p_memsz) / 8 * 8 - 8, 3);
     },
     "outside of its own data"},
    {"packed, without a place", [](Forgery& f) { f.Packed(3, 3); }, "does not begin with a place"},
};

class HostileObject : public ::testing::Test {
 protected:
  void SetUp() override {
    if (GoodObject().empty()) GTEST_SKIP() << "no compiler, or it made nothing";
  }
  static void Ask(std::span<const ForgeryRow> rows) {
    for (const ForgeryRow& row : rows) {
      SCOPED_TRACE(row.name);
      Forgery forgery(GoodObject());
      row.forge(forgery);
      const auto complaint = CheckSharedObject(forgery.bytes, testing::ObjectPolicy());
      if (*row.evidence == '\0')
        EXPECT_FALSE(complaint) << *complaint;
      else
        EXPECT_THAT(complaint.value_or("nothing"), HasSubstr(row.evidence));
    }
  }
};

TEST_F(HostileObject, HasOneReading) { Ask(kReadings); }
TEST_F(HostileObject, IsMappedAsItSays) { Ask(kSegments); }
TEST_F(HostileObject, AsksTheLoaderForNothingElse) { Ask(kEntries); }
TEST_F(HostileObject, ShowsItsEntriesAlone) { Ask(kSymbols); }
TEST_F(HostileObject, IsRelocatedInItsOwnData) { Ask(kRelocations); }

TEST_F(HostileObject, IsRefusedAtEveryLength) {
  // The section table lies behind everything that is mapped, and is not looked at.
  LoaderView view;
  ASSERT_FALSE(ReadAsLoader(GoodObject(), view));
  uint64_t end = 0;
  for (const Elf64_Phdr& segment : view.segments) end = std::max(end, segment.p_offset + segment.p_filesz);
  for (uint64_t size = 0; size < end; size += size < 1024 ? 1 : 61)
    EXPECT_TRUE(CheckSharedObject(std::string_view(GoodObject()).substr(0, size), testing::ObjectPolicy())) << size;
  EXPECT_FALSE(CheckSharedObject(std::string_view(GoodObject()).substr(0, end), testing::ObjectPolicy()));
}

TEST_F(HostileObject, IsRefusedAtLoadWithItsEvidence) {
  const auto folder = TemporaryFolder::Create("assay-object-test-");
  ASSERT_TRUE(folder.ok());
  CppBuilder builder(folder.value().path() / "cache");
  const Contract contract = testing::ToyContract();
  const auto take = [&](const std::string& bytes) {
    auto taken = builder.TakeObject(contract, bytes);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return std::move(taken).value();
  };
  Forgery stripped(GoodObject());
  stripped.Strip();
  const BuildOutcome good = take(stripped.bytes);
  const auto* artifact = std::get_if<Artifact>(&good);
  ASSERT_NE(artifact, nullptr) << std::get<Rejected>(good).evidence;
  EXPECT_EQ(artifact->id, Sha256(stripped.bytes));
  EXPECT_EQ(artifact->file_hash, artifact->id);
  EXPECT_EQ(artifact->name, "object " + artifact->id.substr(0, 16));
  EXPECT_FALSE(artifact->HasSource());
  EXPECT_FALSE(artifact->trusted_code);
  EXPECT_EQ(ReadFile(artifact->path).value(), stripped.bytes);

  Forgery hostile(GoodObject());
  hostile.RelocationType(DT_JMPREL, R_X86_64_IRELATIVE);
  const auto refused = std::get<Rejected>(take(hostile.bytes));
  EXPECT_EQ(Name(refused.reason), Name(Reason::kPolicy));
  EXPECT_EQ(refused.stage, Stage::kLoad);
  EXPECT_THAT(refused.evidence, HasSubstr("IRELATIVE"));

  Forgery without(GoodObject());
  without.Symbol("toy", [](Elf64_Sym& symbol) { symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC); });
  const auto missing = std::get<Rejected>(take(without.bytes));
  EXPECT_EQ(Name(missing.reason), Name(Reason::kLoadFailed));
  EXPECT_THAT(missing.evidence, HasSubstr("does not export toy"));
}

}  // namespace
}  // namespace assay
