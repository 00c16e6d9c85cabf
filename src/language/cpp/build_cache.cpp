// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/build_cache.h"

#include <fmt/format.h>

#include <charconv>

#include "base/file.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::string_view kFirstLine = "assay build 1";

std::filesystem::path EntryPath(const std::filesystem::path& folder, const Digest& id) {
  return folder / "builds" / id;
}
std::filesystem::path ObjectPath(const std::filesystem::path& folder, const Digest& hash) {
  return folder / "objects" / (hash + ".so");
}

Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{ErrorCode::kIo, fmt::format("{}: {}", folder.string(), error.message())};
  return Ok();
}

bool IsDigest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

// An entry is lines "key value"; of the command one line a word.
std::optional<CachedBuild> BuildCache::Find(const Digest& id) const {
  auto text = ReadFile(EntryPath(folder_, id), size_t{1} << 20);
  if (!text.ok()) return std::nullopt;
  CachedBuild build;
  bool first = true;
  for (std::string_view line : Split(text.value(), '\n')) {
    if (first && line != kFirstLine) return std::nullopt;
    first = false;
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, blank), value = line.substr(blank + 1);
    if (key == "file") build.file_hash = std::string(value);
    if (key == "twin") build.twin = std::string(value);
    if (key == "seconds") std::from_chars(value.data(), value.data() + value.size(), build.seconds);
    if (key == "word") build.command.emplace_back(value);
  }
  if (!IsDigest(build.file_hash) || !IsDigest(build.twin)) return std::nullopt;
  build.path = ObjectPath(folder_, build.file_hash);
  auto bytes = ReadFile(build.path);
  if (!bytes.ok() || Sha256(bytes.value()) != build.file_hash) return std::nullopt;
  return build;
}

Result<std::filesystem::path> BuildCache::StoreObject(std::string_view bytes) const {
  ASSAY_TRY_STATUS(MakeFolder(folder_ / "objects"));
  std::filesystem::path path = ObjectPath(folder_, Sha256(bytes));
  ASSAY_TRY_STATUS(WriteFileAtomically(path, bytes));
  return path;
}

Result<CachedBuild> BuildCache::Store(const Digest& id, std::string_view bytes, CachedBuild build) const {
  ASSAY_TRY_STATUS(MakeFolder(folder_ / "builds"));
  build.file_hash = Sha256(bytes);
  ASSAY_TRY(build.path, StoreObject(bytes));
  std::string text =
      fmt::format("{}\nfile {}\ntwin {}\nseconds {}\n", kFirstLine, build.file_hash, build.twin, build.seconds);
  for (const std::string& word : build.command) text += fmt::format("word {}\n", word);
  ASSAY_TRY_STATUS(WriteFileAtomically(EntryPath(folder_, id), text));
  return build;
}

}  // namespace assay
