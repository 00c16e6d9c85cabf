// SPDX-License-Identifier: Apache-2.0
#include "language/peer_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/file.h"
#include "base/text.h"
#include "contract/signature.h"
#include "language/cpp/compile.h"
#include "language/cpp/toolchain.h"
#include "language/peer_info_session.h"

namespace assay {
namespace {

// The text is copied by code in the peer's process, because its memory is not ours to read.
constexpr const char* kCopy =
    "extern \"C\" void assay_info(char* out, long room) {\n"
    "  const char* text = %s();\n"
    "  long i = 0;\n"
    "  for (; text != nullptr && text[i] != 0 && i + 1 < room; ++i) out[i] = text[i];\n"
    "  out[i] = 0;\n"
    "}\n";

std::string CopyOf(const std::string& function) {
  std::string text = kCopy;
  return text.replace(text.find("%s"), 2, function);
}

bool IsIdentifier(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

}  // namespace

Result<std::string> PeerInfo(const Contract& contract, const ReferenceKernel& reference, int threads) {
  if (reference.info.empty()) return std::string();
  if (!IsIdentifier(reference.info))
    return Error{ErrorCode::kInvalidInput, fmt::format("peer {}: info names no function", reference.name)};
  const Result<Toolchain>& toolchain = PrimaryToolchain();
  if (!toolchain.ok()) return toolchain.error();
  CompileJob job;
  job.toolchain = &toolchain.value();
  job.policy.required_exports = {"assay_info"};
  job.policy.trusted_code = true;
  if (reference.info == contract.entry + "_info") {
    ASSAY_TRY(job.source, ReadFile(reference.source, size_t{4} << 20));
    job.source += "\n" + CopyOf(reference.info);
    job.header = ContractHeader(contract, {});
    job.flags = reference.flags;
  } else {
    job.source = fmt::format("extern \"C\" char* {}();\n", reference.info) + CopyOf(reference.info);
  }
  std::vector<std::filesystem::path> files;
  for (const std::string& name : reference.libraries) {
    ASSAY_TRY(AllowedLibrary library, FindLibrary(name));
    job.link_flags.push_back(library.link_flag);
    for (auto& file : library.files) {
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(std::move(file));
    }
  }
  ASSAY_TRY(CompileOutcome outcome, Compile(job));
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
    return Error{ErrorCode::kInvalidInput, fmt::format("peer {}: info: {}", reference.name, rejected->evidence)};
  }
  ASSAY_TRY(const std::string text, AskInfo(std::get<CompiledFile>(outcome).bytes, files, threads));
  return Printable(Cut(Trim(text), 200));
}

}  // namespace assay
