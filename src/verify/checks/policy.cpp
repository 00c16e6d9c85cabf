// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/policy.h"

#include "base/file.h"
#include "verify/check.h"

namespace assay {
namespace {

// What a source is asked before it is built, and in the exam.
constexpr const char* kAskedOfSources[] = {
    "source policy: the object came without a source",
    "builds twice to the same code: the object came without a source",
    "second compiler: the object came without a source",
    "sanitizers: the object came without a source",
};

// The builder has asked the same; here it is asked of the bytes that are about to run.
class PolicyCheck : public Check {
 public:
  std::string_view name() const override { return "policy"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    const Artifact& artifact = *examination.subject().artifact;
    examination.CountCase();
    ASSAY_TRY(const std::string bytes, ReadFile(artifact.path));
    std::vector<std::string> sonames;
    for (const auto& library : artifact.libraries) sonames.push_back(library.filename().string());
    const FilePolicy policy = PolicyFor(examination.contract(), artifact.trusted_code, sonames);
    if (Sha256(bytes) != artifact.file_hash) {
      return Error{ErrorCode::kCorrupt, artifact.path.string() + " changed after it was built"};
    }
    if (!artifact.HasSource()) {
      for (const char* const what : kAskedOfSources) examination.NotChecked(what);
    }
    if (const auto complaint = CheckSharedObject(bytes, policy))
      return std::optional(examination.Refuse(Reason::kPolicy, *complaint));
    if (const auto missing = FindMissingEntry(bytes, policy))
      return std::optional(examination.Refuse(Reason::kLoadFailed, *missing));
    return std::optional<Rejected>();
  }
};

}  // namespace

std::unique_ptr<Check> MakePolicyCheck() { return std::make_unique<PolicyCheck>(); }

}  // namespace assay
