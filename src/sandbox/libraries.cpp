// SPDX-License-Identifier: Apache-2.0
#include "sandbox/libraries.h"

#include <elf.h>

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>

#include "base/file.h"

namespace assay {
namespace {

constexpr size_t kLargestLibrary = size_t{1} << 30;
constexpr const char* kFolders[] = {
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"};

struct Dynamic {
  std::vector<std::string> needed;
  std::string soname;
  std::string loader;
};

// Reads a structure at an offset that the file itself named.
template <typename T>
bool ReadAt(const std::string& file, uint64_t offset, T& value) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return true;
}

std::string TextAt(const std::string& file, uint64_t offset) {
  if (offset >= file.size()) return "";
  return std::string(file.data() + offset, ::strnlen(file.data() + offset, file.size() - offset));
}

std::vector<Elf64_Phdr> ProgramHeaders(const std::string& file) {
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> headers;
  if (!ReadAt(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return headers;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!ReadAt(file, header.e_phoff + i * sizeof(part), part)) break;
    headers.push_back(part);
  }
  return headers;
}

uint64_t FileOffset(const std::vector<Elf64_Phdr>& headers, uint64_t address) {
  for (const Elf64_Phdr& part : headers) {
    if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz) {
      return part.p_offset + (address - part.p_vaddr);
    }
  }
  return ~uint64_t{0};
}

Dynamic ReadDynamic(const std::string& file) {
  Dynamic result;
  const std::vector<Elf64_Phdr> headers = ProgramHeaders(file);
  std::vector<Elf64_Dyn> entries;
  uint64_t strings = 0;
  for (const Elf64_Phdr& part : headers) {
    if (part.p_type == PT_INTERP) result.loader = TextAt(file, part.p_offset);
    if (part.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= part.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry{};
      if (!ReadAt(file, part.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
      entries.push_back(entry);
      if (entry.d_tag == DT_STRTAB) strings = FileOffset(headers, entry.d_un.d_ptr);
    }
  }
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NEEDED) result.needed.push_back(TextAt(file, strings + entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) result.soname = TextAt(file, strings + entry.d_un.d_val);
  }
  return result;
}

std::optional<std::filesystem::path> Find(const std::filesystem::path& name, const std::filesystem::path& beside) {
  std::error_code failed;
  if (name.has_parent_path()) {
    std::filesystem::path real = std::filesystem::canonical(name, failed);
    return failed ? std::nullopt : std::optional(std::move(real));
  }
  std::vector<std::filesystem::path> folders(std::begin(kFolders), std::end(kFolders));
  if (!beside.empty()) folders.push_back(beside);
  for (const std::filesystem::path& folder : folders) {
    std::filesystem::path real = std::filesystem::canonical(folder / name, failed);
    if (!failed) return real;
  }
  return std::nullopt;
}

struct Wanted {
  std::filesystem::path name;
  std::filesystem::path beside;
};

Result<std::vector<Library>> Resolve(std::vector<Wanted> queue) {
  std::vector<Library> libraries;
  std::set<std::string> known;
  for (size_t i = 0; i < queue.size(); ++i) {  // grows while it runs; bounded by the set of names
    const Wanted wanted = queue[i];
    const std::string name = wanted.name.filename();
    if (!known.insert(name).second) continue;
    const auto source = Find(wanted.name, wanted.beside);
    if (!source) return Error{ErrorCode::kNotFound, "the shared library " + wanted.name.string() + " was not found"};
    ASSAY_TRY(const std::string file, ReadFile(*source, kLargestLibrary));
    const Dynamic dynamic = ReadDynamic(file);
    libraries.push_back({name, *source});
    if (!dynamic.soname.empty() && known.insert(dynamic.soname).second) libraries.push_back({dynamic.soname, *source});
    for (const std::string& needed : dynamic.needed) queue.push_back({needed, source->parent_path()});
  }
  return libraries;
}

// Libraries do not move while a process runs, and a session should not cost the reading of them all.
template <typename Value, typename Make>
Result<Value> Remember(const std::string& key, const Make& make) {
  static std::mutex mutex;
  static std::map<std::string, Value> known;
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
  }
  ASSAY_TRY(Value value, make());
  const std::lock_guard lock(mutex);
  return known.insert_or_assign(key, std::move(value)).first->second;
}

Result<std::vector<Library>> RuntimeOf(const std::filesystem::path& runner) {
  ASSAY_TRY(const std::string file, ReadFile(runner, kLargestLibrary));
  std::vector<Wanted> queue;
  for (const std::string& needed : ReadDynamic(file).needed) queue.push_back({needed, {}});
  // What the runner itself may not need; a distribution without one of them has no candidate that does.
  for (const char* name :
       {"libc.so.6", "libm.so.6", "libmvec.so.1", "libgomp.so.1", "libgcc_s.so.1", "libstdc++.so.6"}) {
    if (Find(name, {})) queue.push_back({name, {}});
  }
  return Resolve(std::move(queue));
}

Result<std::string> ReadLoader(const std::filesystem::path& program) {
  ASSAY_TRY(const std::string file, ReadFile(program, kLargestLibrary));
  std::string loader = ReadDynamic(file).loader;
  if (loader.empty()) return Error{ErrorCode::kNotFound, program.string() + " names no dynamic loader"};
  return loader;
}

}  // namespace

Result<std::vector<Library>> ResolveLibraries(std::span<const std::filesystem::path> roots) {
  std::vector<Wanted> queue;
  std::string key;
  for (const std::filesystem::path& root : roots) {
    queue.push_back({root, {}});
    key += root.string() + '\n';
  }
  return Remember<std::vector<Library>>("roots " + key, [&queue] { return Resolve(std::move(queue)); });
}

Result<std::vector<Library>> RuntimeLibraries(const std::filesystem::path& runner) {
  return Remember<std::vector<Library>>("runtime " + runner.string(), [&runner] { return RuntimeOf(runner); });
}

Result<std::string> LoaderOf(const std::filesystem::path& program) {
  return Remember<std::string>(program.string(), [&program] { return ReadLoader(program); });
}

}  // namespace assay
