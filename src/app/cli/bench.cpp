// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/passage.h"
#include "app/cli/progress.h"
#include "record/advance.h"
#include "record/json.h"
#include "report/summary.h"

namespace assay {
namespace {

// Without A: the incumbent of the contract's newest campaign here, else the first template's defaults.
Result<NamedKernel> DefaultKernel(Workshop& shop, const BenchArguments& arguments) {
  ASSAY_TRY(const auto lines, shop.ledger->Campaigns());
  for (auto line = lines.rbegin(); line != lines.rend() && arguments.knobs.empty() && arguments.flags.empty(); ++line) {
    if (line->contract != shop.contract.name) continue;
    ASSAY_TRY(const Campaign campaign, shop.ledger->Load(line->id));
    if (!campaign.incumbent) continue;
    for (const Attempt& attempt : campaign.attempts) {
      if (attempt.ordinal == campaign.incumbent->attempt)
        return NamedKernel{attempt.proposal.candidate, nullptr, "incumbent"};
    }
  }
  if (shop.contract.templates.empty())
    return Error{ErrorCode::kInvalidInput, shop.contract.name + " has no template; name A"};
  return FindKernel(shop.contract, shop.contract.templates.front().string(), arguments.knobs, arguments.flags);
}

int ShowRefusal(const Workshop& shop, const std::string& label, const Rejected& why) {
  Attempt attempt;
  attempt.proposal.candidate.template_name = label;
  Refuse(attempt, why);
  Print(VerdictText(attempt, shop.contract.name, OutputWidth()));
  return kRefused;
}

}  // namespace

Result<int> Command(const BenchArguments& arguments) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  TerminalProgress progress(terminal, OutputWidth(), false);
  ASSAY_TRY(Workshop shop,
            Workshop::Open(arguments.contract, {arguments.threads, arguments.workloads, arguments.margin,
                                                [&progress](const std::string& text) { progress.Remark(text); }}));
  ASSAY_TRY(NamedKernel a, arguments.file.empty()
                               ? DefaultKernel(shop, arguments)
                               : FindKernel(shop.contract, arguments.file, arguments.knobs, arguments.flags));
  ASSAY_TRY(NamedKernel b, FindKernel(shop.contract, arguments.against, {}, {}));
  if (a.label == b.label) {
    a.label += " (A)";
    b.label += " (B)";
  }
  ASSAY_TRY(const Passage passed_a, PassTo(Stage::kVerify, shop, a));
  if (passed_a.attempt.rejected) return ShowRefusal(shop, a.label, *passed_a.attempt.rejected);
  ASSAY_TRY(const Passage passed_b, PassTo(Stage::kVerify, shop, b));
  if (passed_b.attempt.rejected) return ShowRefusal(shop, b.label, *passed_b.attempt.rejected);
  ASSAY_TRY(const KernelTimer::BenchOutcome bench,
            shop.timer->Bench(shop.contract, *passed_a.verified, *passed_b.verified));
  progress.Close();
  if (const auto* refused = std::get_if<Rejected>(&bench.outcome))
    return ShowRefusal(shop, bench.rejected_arm, *refused);
  const DecisionReport& report = std::get<DecisionReport>(bench.outcome);
  if (!arguments.json.empty()) {
    ASSAY_TRY(const Machine machine, MachineHere());
    ASSAY_TRY_STATUS(
        WriteJson(arguments.json, BenchJson(report, shop.contract.name, machine, VersionsHere(shop.contract))));
  }
  if (arguments.json != "-") Print(BenchText(report, a.label, b.label, OutputWidth()));
  const bool decided = std::all_of(report.decisions.begin(), report.decisions.end(), [](const Decision& d) {
    return d.kind != DecisionKind::kUndecided && d.kind != DecisionKind::kUnstable;
  });
  return decided && !report.decisions.empty() ? kDone : kNoVerdict;
}

}  // namespace assay
