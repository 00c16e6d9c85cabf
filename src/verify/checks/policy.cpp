// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/policy.h"

#include "base/file.h"
#include "verify/check.h"

namespace assay {
namespace {

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
    const auto complaint = CheckSharedObject(bytes, policy);
    if (!complaint) return std::optional<Rejected>();
    return std::optional(examination.Refuse(Reason::kPolicy, *complaint));
  }
};

}  // namespace

std::unique_ptr<Check> MakePolicyCheck() { return std::make_unique<PolicyCheck>(); }

}  // namespace assay
