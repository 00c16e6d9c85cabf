// SPDX-License-Identifier: Apache-2.0
#include "verify/check.h"

namespace assay {

Checks ScreenChecks() {
  Checks checks;
  checks.push_back(MakePolicyCheck());
  checks.push_back(MakeSmokeCheck());
  checks.push_back(MakeGlanceCheck());
  checks.push_back(MakeTimedGlanceCheck());
  return checks;
}

Checks VerifyChecks() {
  Checks checks;
  checks.push_back(MakeShapesCheck());
  checks.push_back(MakeRegimesCheck());
  checks.push_back(MakeMemoryCheck());
  checks.push_back(MakeHistoryCheck());
  checks.push_back(MakeDeterminismCheck());
  checks.push_back(MakeRelationsCheck());
  checks.push_back(MakeTimedShapesCheck());
  return checks;
}

std::string_view CheckOf(Reason reason, std::string_view running) {
  switch (reason) {
    case Reason::kWroteOutside:
    case Reason::kReadOutside:
    case Reason::kWroteInput:
      return "memory";
    case Reason::kMachineState:
      return "machine state";
    case Reason::kForbiddenCall:
    case Reason::kOutOfMemory:
      return "walls";
    case Reason::kHang:
      return "time limit";
    case Reason::kDependsOnHistory:
      return "history";
    case Reason::kNondeterministic:
      return "determinism";
    default:
      return running;
  }
}

}  // namespace assay
