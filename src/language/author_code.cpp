// SPDX-License-Identifier: Apache-2.0
#include "language/author_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/file.h"
#include "language/cpp/build_cache.h"
#include "language/cpp/compile.h"
#include "language/cpp/machine_code.h"
#include "language/cpp/toolchain.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRules = 1;
constexpr std::chrono::seconds kBuildLimit{120};

// The bytes of the headers that a reference may include, names in front: what its build depends on.
Status AddHeaders(const fs::path& folder, RecordHash& hash) {
  std::vector<fs::path> headers;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file() && entry.path().extension() == ".h") headers.push_back(entry.path());
  }
  if (error) return Error{ErrorCode::kIo, fmt::format("{}: {}", folder.string(), error.message())};
  std::sort(headers.begin(), headers.end());
  for (const fs::path& header : headers) {
    ASSAY_TRY(const std::string bytes, ReadFile(header));
    hash.Add(header.filename().string(), bytes);
  }
  return Ok();
}

}  // namespace

Result<fs::path> BuildAuthorCode(const AuthorCode& code, const fs::path& cache_folder) {
  const Result<Toolchain>& toolchain = PrimaryToolchain();
  if (!toolchain.ok()) return toolchain.error();
  ASSAY_TRY(const fs::path headers, ReferenceHeaders());
  CompileJob job;
  job.toolchain = &toolchain.value();
  job.source = code.source;
  job.flags = {"-O2", "-march=native", "-fvisibility=hidden"};
  job.policy.required_exports = {code.symbol};
  job.policy.trusted_code = true;  // its walls are the process's; it is compared with nothing
  job.limit = kBuildLimit;

  RecordHash hash("author's code");
  hash.Add("rules", kRules).Add("what", code.what).Add("toolchain", job.toolchain->identity);
  for (const std::string& word : CompileCommand(job)) hash.Add("word", word);
  hash.Add("source", job.source);
  ASSAY_TRY(const std::string file_bytes, ReadFile(code.file));
  hash.Add("file", file_bytes);
  ASSAY_TRY_STATUS(AddHeaders(headers / "assay", hash));
  ASSAY_TRY_STATUS(AddHeaders(code.file.parent_path(), hash));
  const Digest id = hash.Finish();
  const BuildCache cache(cache_folder);
  if (const auto hit = cache.Find(id)) return hit->path;

  job.include_folders = {code.file.parent_path().string(), headers.string()};
  ASSAY_TRY(CompileOutcome outcome, Compile(job));
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{}: the {} does not compile: {}", code.file.string(), code.what, rejected->evidence)};
  }
  const CompiledFile& compiled = std::get<CompiledFile>(outcome);
  CachedBuild build;
  ASSAY_TRY(build.twin, TwinOf(compiled.bytes));
  build.seconds = compiled.seconds;
  build.command = compiled.command;
  ASSAY_TRY(const CachedBuild stored, cache.Store(id, compiled.bytes, std::move(build)));
  return stored.path;
}

Result<fs::path> ReferenceHeaders() {
  std::error_code ignored;
  const fs::path source = fs::path(ASSAY_SOURCE_DIR) / "src/numerics";
  if (fs::is_regular_file(source / "assay/reference.h", ignored)) return source;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path shared = program.parent_path().parent_path() / "share/assay/include";
  if (fs::is_regular_file(shared / "assay/reference.h", ignored)) return shared;
  return Error{ErrorCode::kNotFound,
               fmt::format("assay/reference.h is neither in {} nor in {}", source.string(), shared.string())};
}

}  // namespace assay
