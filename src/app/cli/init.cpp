// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "base/file.h"
#include "base/text.h"
#include "contract/c_signature.h"

namespace assay {
namespace {

bool GoodName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name[0] >= 'a' && name[0] <= 'z' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

}  // namespace

Result<int> Command(const InitArguments& arguments) {
  if (!GoodName(arguments.name)) {
    return Error{
        ErrorCode::kInvalidInput,
        "NAME " + arguments.name + ": use a lower-case letter, then letters, digits and underscores (at most 64)"};
  }
  const std::filesystem::path folder = arguments.out.empty() ? std::filesystem::path("contracts") / arguments.name
                                                             : std::filesystem::path(arguments.out);
  std::error_code error;
  if (std::filesystem::exists(folder, error))
    return Error{ErrorCode::kInvalidInput, folder.string() + ": exists; choose another NAME or --out"};
  ASSAY_TRY(const std::string source, ReadFile(arguments.from));
  ASSAY_TRY(const CSignature signature, ReadSignature(source, arguments.entry, arguments.from));
  ASSAY_TRY(const std::string contract, DraftContract(signature, arguments.name));
  ASSAY_TRY(const std::string reference, WidenedReference(source, signature));
  std::filesystem::create_directories(folder / "templates", error);
  if (error) return Error{ErrorCode::kIo, "cannot make " + folder.string() + ": " + error.message()};
  ASSAY_TRY_STATUS(WriteFileAtomically(folder / "baseline.cpp", DraftBaseline(source, signature)));
  ASSAY_TRY_STATUS(WriteFileAtomically(folder / "reference.h", reference));
  // The function itself is the first family: nothing to tune yet but the compiler's options.
  ASSAY_TRY_STATUS(WriteFileAtomically(folder / "templates" / (arguments.name + ".cpp"),
                                       "// assay:template " + arguments.name +
                                           "\n// assay:flag -O3 | -O2\n// assay:flag -march=native | none\n" +
                                           DraftBaseline(source, signature)));
  ASSAY_TRY_STATUS(WriteFileAtomically(folder / "contract.toml", contract));
  size_t gaps = 0;
  for (size_t at = contract.find("FILL IN"); at != std::string::npos; at = contract.find("FILL IN", at + 1)) ++gaps;
  Print(
      fmt::format("{}/contract.toml   {} gap{} marked FILL IN\n{}/reference.h     {} widened to "
                  "double\n{}/baseline.cpp    {} as it is\n\n"
                  "Fill the gaps, then: assay contract check {}   and   assay run {}\n",
                  folder.string(), gaps, gaps == 1 ? "" : "s", folder.string(), arguments.entry, folder.string(),
                  arguments.entry, folder.string(), folder.string()));
  return kDone;
}

}  // namespace assay
