// SPDX-License-Identifier: Apache-2.0
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/passage.h"
#include "record/json.h"
#include "report/summary.h"

namespace assay {

Result<int> Command(const VerifyArguments& arguments) {
  ASSAY_TRY_STATUS(CheckTargets({arguments.json}));
  ASSAY_TRY(Workshop shop, Workshop::Open(arguments.contract, {arguments.threads, {}, 0, {}}));
  ASSAY_TRY(const NamedKernel subject, FindKernel(shop.contract, arguments.file, arguments.knobs, arguments.flags));
  const Result<Passage> walked = PassTo(*ParseStage(arguments.stop_after), shop, subject);
  if (!walked.ok()) {
    // The gate's own trouble is no verdict on the kernel.
    if (walked.error().code == ErrorCode::kInvalidInput) return walked.error();
    Say("assay: " + walked.error().message + "\n");
    return kNoVerdict;
  }
  const Attempt& attempt = walked.value().attempt;
  if (!arguments.json.empty()) {
    ASSAY_TRY(const Machine machine, MachineHere());
    ASSAY_TRY_STATUS(
        WriteJson(arguments.json, VerdictJson(attempt, shop.contract.name, machine, VersionsHere(shop.contract))));
  }
  if (arguments.json != "-") Print(VerdictText(attempt, shop.contract.name, OutputWidth()));
  return attempt.rejected ? kRefused : kDone;
}

}  // namespace assay
