// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/workshop.h"
#include "record/json.h"
#include "report/summary.h"

namespace assay {
namespace {

// Without A: the incumbent of the contract's newest campaign here, else the first template's defaults.
Result<Subject> DefaultSubject(Workshop& shop, const BenchArguments& arguments) {
  ASSAY_TRY(const auto lines, shop.ledger->Campaigns());
  for (auto line = lines.rbegin(); line != lines.rend() && arguments.knobs.empty() && arguments.flags.empty(); ++line) {
    if (line->contract != shop.contract.name) continue;
    ASSAY_TRY(const Campaign campaign, shop.ledger->Load(line->id));
    if (!campaign.incumbent) continue;
    for (const Attempt& attempt : campaign.attempts) {
      if (attempt.ordinal == campaign.incumbent->attempt)
        return Subject{attempt.proposal.candidate, nullptr, "incumbent"};
    }
  }
  if (shop.contract.templates.empty())
    return Error{ErrorCode::kInvalidInput, shop.contract.name + " has no template; name A"};
  return FindSubject(shop.contract, shop.contract.templates.front().string(), arguments.knobs, arguments.flags);
}

// Through the gate, as far as a decision needs it; the text says why not.
Result<std::variant<Verified, Rejected>> Gated(Workshop& shop, const Subject& subject) {
  using Outcome = std::variant<Verified, Rejected>;
  ASSAY_TRY(const BuildOutcome built, BuildSubject(shop, subject));
  if (const auto* refused = std::get_if<Rejected>(&built)) return Outcome(*refused);
  ASSAY_TRY(const ScreenOutcome screened, shop.gate->Screen(shop.contract, std::get<Artifact>(built)));
  if (const auto* refused = std::get_if<Rejected>(&screened)) return Outcome(*refused);
  ASSAY_TRY(const VerifyOutcome verified, shop.gate->Verify(shop.contract, std::get<Screened>(screened)));
  if (const auto* refused = std::get_if<Rejected>(&verified)) return Outcome(*refused);
  return Outcome(std::get<Verified>(verified));
}

int ShowRefusal(const Workshop& shop, const std::string& label, const Rejected& why) {
  Attempt attempt;
  attempt.proposal.candidate.template_name = label;
  attempt.outcome = OutcomeKind::kRejected;
  attempt.rejected = why;
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
  ASSAY_TRY(Subject a, arguments.file.empty()
                           ? DefaultSubject(shop, arguments)
                           : FindSubject(shop.contract, arguments.file, arguments.knobs, arguments.flags));
  ASSAY_TRY(Subject b, FindSubject(shop.contract, arguments.against, {}, {}));
  if (a.label == b.label) {
    a.label += " (A)";
    b.label += " (B)";
  }
  ASSAY_TRY(const auto gated_a, Gated(shop, a));
  if (const auto* refused = std::get_if<Rejected>(&gated_a)) return ShowRefusal(shop, a.label, *refused);
  ASSAY_TRY(const auto gated_b, Gated(shop, b));
  if (const auto* refused = std::get_if<Rejected>(&gated_b)) return ShowRefusal(shop, b.label, *refused);
  ASSAY_TRY(const KernelTimer::BenchOutcome bench,
            shop.timer->Bench(shop.contract, std::get<Verified>(gated_a), std::get<Verified>(gated_b)));
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
