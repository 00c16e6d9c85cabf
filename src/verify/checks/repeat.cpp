// SPDX-License-Identifier: Apache-2.0
#include "verify/checks/repeat.h"

#include <algorithm>
#include <utility>

namespace assay {

Result<FreshRun> RunFresh(Examination& examination, const Case& c, bool compare) {
  FreshRun ran;
  ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
  if (auto* rejected = std::get_if<Rejected>(&started)) {
    ran.refused = examination.Annotated(std::move(*rejected), c, "");
    return ran;
  }
  Probe& probe = std::get<Probe>(started);
  ASSAY_TRY(const DrawnCall drawn, probe.Load(0, c.calls.front(), examination.SlotSeed(c, 0)));
  examination.CountCase();
  ran.regimes = drawn.regimes;
  ASSAY_TRY(ran.refused, probe.Run(0));
  if (ran.refused) {
    ran.refused = examination.Annotated(std::move(*ran.refused), c, drawn.regimes);
    return ran;
  }
  if (compare) {
    ASSAY_TRY(ran.refused, examination.CheckSlot(probe, c, 0));
  } else {
    ASSAY_TRY(ran.refused, examination.CheckWritten(probe, c, 0));
  }
  if (ran.refused) return ran;
  ran.outputs = probe.CopyOutputs(0);
  ASSAY_TRY(ran.refused, examination.CheckMachine(probe, c));
  return ran;
}

Result<std::optional<Rejected>> RepeatsTo(Examination& examination, const Case& c,
                                          const std::vector<std::byte>& outputs) {
  if (examination.contract().policy.deterministic == Determinism::kNo) return std::optional<Rejected>();
  ASSAY_TRY(FreshRun again, RunFresh(examination, c, false));
  if (again.refused) return std::move(again.refused);
  if (again.outputs == outputs) return std::optional<Rejected>();
  return std::optional(Differs(examination, c, again.regimes, outputs, again.outputs,
                               "a second process at the same addresses gave other bits"));
}

Rejected Differs(Examination& examination, const Case& c, const std::string& regimes, const std::vector<std::byte>& one,
                 const std::vector<std::byte>& other, std::string what) {
  const auto at = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  what += "; the first differing byte is " + std::to_string(at.first - one.begin());
  return examination.Annotated(examination.Refuse(Reason::kNondeterministic, std::move(what)), c, regimes);
}

}  // namespace assay
