// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "contract/include_scan.h"
#include "contract/load_tables.h"
#include "contract/recording.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 2000;
constexpr size_t kMaxFileBytes = size_t{64} << 20;
constexpr int kMaxFolderDepth = 8;

// Everything in the folder, sorted by its path in it.  Editors' leavings and hidden files are no part of a contract.
Status List(const Locator& where, const fs::path& root, const fs::path& folder, int depth,
            std::vector<fs::path>& files) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    entries.push_back(it->path());
    if (entries.size() + files.size() > kMaxFiles)
      return ConfigError(where.file(), 1, "folder",
                         fmt::format("holds more than {} files; move the others away", kMaxFiles));
  }
  if (failed)
    return ConfigError(where.file(), 1, "folder",
                       fmt::format("{} cannot be listed: {}; make it readable", folder.string(), failed.message()));
  std::ranges::sort(entries);
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    if (name.starts_with('.') || name.ends_with('~') || name.ends_with(".orig")) continue;
    const fs::path inside = entry.lexically_relative(root);
    if (!IsInside(root, entry))
      return ConfigError(where.file(), 1, inside.string(),
                         "is a link out of the contract's folder, or to nothing; copy the file");
    if (fs::is_directory(entry, failed)) {
      // A link to a folder inside could close a circle, so only real folders are entered.
      if (fs::is_symlink(entry, failed))
        return ConfigError(where.file(), 1, inside.string(), "is a link to a folder; copy it");
      if (depth >= kMaxFolderDepth)
        return ConfigError(where.file(), 1, inside.string(),
                           fmt::format("folders deeper than {}; flatten them", kMaxFolderDepth));
      ASSAY_TRY_STATUS(List(where, root, entry, depth + 1, files));
    } else if (fs::is_regular_file(entry, failed)) {
      files.push_back(inside);
    } else {
      return ConfigError(where.file(), 1, inside.string(), "is neither file nor folder; remove it");
    }
  }
  return Ok();
}

bool Under(const fs::path& inside, std::string_view folder) {
  return inside.begin() != inside.end() && *inside.begin() == folder;
}

bool IsSource(const fs::path& path) {
  constexpr std::array<std::string_view, 6> kExtensions = {".cpp", ".cc", ".c", ".cxx", ".S", ".s"};
  return std::ranges::count(kExtensions, path.extension().string()) > 0;
}

std::vector<fs::path> SourcesIn(const fs::path& root, const std::vector<fs::path>& files, std::string_view folder) {
  std::vector<fs::path> sources;
  for (const fs::path& file : files) {
    if (Under(file, folder) && IsSource(file)) sources.push_back(root / file);
  }
  return sources;
}

Result<Digest> HashOf(const Locator& where, const fs::path& root, const std::vector<fs::path>& files) {
  RecordHash hash("contract");
  for (const fs::path& file : files) {
    if (Under(file, "templates")) continue;
    const Result<std::string> bytes = ReadFile(root / file, kMaxFileBytes);
    if (!bytes.ok()) return ConfigError(where.file(), 1, file.string(), bytes.error().message);
    hash.Add("path", file.generic_string()).Add("content", Sha256(bytes.value()));
  }
  return hash.Finish();
}

Status FindSource(const Locator& where, const fs::path& root, ReferenceKernel& kernel) {
  const std::string_view table = kernel.kind == ReferenceKind::kPeer ? "peer" : "baseline";
  const auto here = [&](std::string_view what) { return where.At({table, kernel.name, "source"}, what); };
  const fs::path source = kernel.source;
  std::error_code failed;
  if (source.empty() || source.is_absolute()) return here("needs the path of a file inside the contract's folder");
  if (!fs::exists(root / source, failed))
    return here(fmt::format("{} does not exist; write it or correct the path", source.string()));
  if (!IsInside(root, root / source))
    return here(fmt::format("{} lies outside of the contract's folder; copy it in", source.string()));
  if (!fs::is_regular_file(root / source, failed))
    return here(fmt::format("{} is no file; name a source file", source.string()));
  kernel.source = fs::weakly_canonical(root / source, failed);
  return Ok();
}

// What was recorded for one tensor's regime: the file that `captured:` names, else captured/TENSOR.npy.
Status ReadCaptured(const Locator& where, const Contract& contract, const std::string& tensor, std::string_view key,
                    Generator& generator) {
  const auto here = [&](std::string_view what) { return where.At({"tensor", tensor, key}, what); };
  constexpr std::string_view kPrefix = "captured:";
  const fs::path inside = generator.text.starts_with(kPrefix) ? fs::path(generator.text.substr(kPrefix.size()))
                                                              : fs::path("captured") / (tensor + ".npy");
  std::error_code failed;
  if (inside.is_absolute() || !IsInside(contract.folder, contract.folder / inside) ||
      !fs::is_regular_file(contract.folder / inside, failed)) {
    return here(fmt::format("{} is no file inside the contract's folder; put the recording there", inside.string()));
  }
  const Result<Recording> recorded = ReadNpy(contract.folder / inside);
  if (!recorded.ok()) return here(fmt::format("{} {}", inside.string(), recorded.error().message));
  const auto& values = recorded.value().values;
  if (!contract.policy.special_propagates && !std::ranges::all_of(values, [](double v) { return std::isfinite(v); })) {
    return here(fmt::format("{} holds NaN or infinities; record finite values or say special = \"propagate\"",
                            inside.string()));
  }
  generator.recorded = std::make_shared<const Recording>(recorded.value());
  return Ok();
}

// What values come from beside their generators.
Status FindSourcesOfValues(const Locator& where, const std::vector<fs::path>& files, Contract& contract) {
  const bool program = std::ranges::count(files, fs::path(kInputsFile)) > 0;
  constexpr std::string_view kMissing = "inputs.cpp is missing beside contract.toml; write it (docs/contract.md)";
  for (const Scalar& scalar : contract.scalars) {
    if (scalar.from_program() && !program) return where.At({"scalar", scalar.name, "from"}, kMissing);
  }
  for (Tensor& tensor : contract.tensors) {
    if (tensor.from_program() && !program) return where.At({"tensor", tensor.name, "from"}, kMissing);
    for (Generator& generator : tensor.values) {
      if (generator.kind != GeneratorKind::kCaptured) continue;
      ASSAY_TRY_STATUS(ReadCaptured(where, contract, tensor.name, tensor.from.empty() ? "values" : "from", generator));
    }
  }
  return Ok();
}

}  // namespace

Status CollectFiles(const Locator& where, Contract& contract) {
  const fs::path& root = contract.folder;
  std::vector<fs::path> files;
  ASSAY_TRY_STATUS(List(where, root, root, 0, files));
  std::ranges::sort(files);
  contract.reference = root / "reference.h";
  if (!std::ranges::count(files, fs::path("reference.h"))) {
    return ConfigError(where.file(), 1, "reference.h",
                       "is missing beside contract.toml; write the reference (docs/contract.md)");
  }
  ASSAY_TRY_STATUS(ScanIncludes(root, contract.reference));
  if (std::ranges::count(files, fs::path(kInputsFile))) ASSAY_TRY_STATUS(ScanIncludes(root, root / kInputsFile));
  ASSAY_TRY_STATUS(FindSourcesOfValues(where, files, contract));
  for (ReferenceKernel& kernel : contract.references) ASSAY_TRY_STATUS(FindSource(where, root, kernel));
  contract.templates = SourcesIn(root, files, "templates");
  contract.mutants = SourcesIn(root, files, "mutants");
  contract.honest = SourcesIn(root, files, "honest");
  ASSAY_TRY(contract.hash, HashOf(where, root, files));
  return Ok();
}

}  // namespace assay
