// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/workshop.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/campaign.h"
#include "language/cpp/directives.h"
#include "language/peer_info.h"
#include "record/json.h"
#include "report/html.h"
#include "report/summary.h"
#include "search/strategy.h"

namespace assay {
namespace {

std::string Replay(const RunArguments& a) {
  std::string command = fmt::format("assay run {} --budget {} --seed {}", a.contract, a.budget, a.seed);
  if (a.strategy != RunArguments().strategy) command += " --strategy " + a.strategy;
  if (a.seconds > 0) command += fmt::format(" --seconds {}", a.seconds);
  if (a.threads) command += fmt::format(" --threads {}", *a.threads);
  for (const std::string& workload : a.workloads) command += " --workload " + workload;
  if (a.margin > 0) command += fmt::format(" --margin {}", a.margin);
  return command;
}

Result<Campaign> NewCampaign(const RunArguments& a, const Workshop& shop) {
  Campaign campaign;
  campaign.id = Seed::Fresh().Hex().substr(0, 12);
  campaign.contract = shop.contract.name;
  campaign.contract_hash = shop.contract.hash;
  ASSAY_TRY(campaign.machine, MachineHere());
  campaign.versions = VersionsHere(shop.contract);
  campaign.strategy = a.strategy;
  campaign.seed = a.seed;
  campaign.seed_hash = Sha256(shop.secret.Hex());
  campaign.threads = shop.threads;
  campaign.budget = {a.budget, 0, a.seconds};
  campaign.command = Replay(a);
  return campaign;
}

// The campaign to go on with, and what it left.  What was asked then holds, not what this line says.
Result<Campaign> Resumed(const RunArguments& a, Workshop& shop, Recorded& recorded) {
  std::string id = *a.resume;
  if (id.empty()) {
    ASSAY_TRY(const auto lines, shop.ledger->Campaigns());
    for (const CampaignLine& line : lines) {
      if (line.contract == shop.contract.name && line.stopped.empty()) id = line.id;
    }
    if (id.empty())
      return Error{ErrorCode::kNotFound,
                   "no unfinished campaign of " + shop.contract.name + " in this workspace; see `assay ledger`"};
  }
  ASSAY_TRY(Campaign campaign, shop.ledger->Load(id));
  if (!campaign.stopped.why.empty())
    return Error{ErrorCode::kInvalidInput,
                 "campaign " + id + " has ended (" + campaign.stopped.why + "); see `assay ledger show " + id + "`"};
  if (campaign.contract_hash != shop.contract.hash) {
    return Error{ErrorCode::kInvalidInput, "the contract " + shop.contract.name + " changed since campaign " + id +
                                               " began; start a new campaign"};
  }
  ASSAY_TRY(recorded.revisions, shop.ledger->LoadRevisions(id));
  ASSAY_TRY(recorded.rankings, shop.ledger->LoadRankings(id));
  recorded.references = campaign.references;
  recorded.decision = campaign.decision;
  campaign.attempts.clear();
  campaign.references.clear();
  campaign.decision.reset();
  campaign.budget.spent = 0;
  return campaign;
}

// One honest kernel and one planted fault of the contract's author, drawn by the gate's own secret.
Result<std::vector<Control>> DrawControls(const Workshop& shop) {
  std::vector<Control> controls;
  Stream draw(shop.secret.Derive("controls"));
  for (const auto& [files, must_pass] :
       {std::pair(&shop.contract.honest, true), std::pair(&shop.contract.mutants, false)}) {
    if (files->empty()) continue;
    const std::filesystem::path& file = (*files)[draw.Below(files->size())];
    ASSAY_TRY(const Template family, ReadTemplate(file, shop.contract));
    ASSAY_TRY(Candidate candidate, MakeCandidate(family, {}, {}));
    controls.push_back({std::move(candidate), file.filename().string(), must_pass});
  }
  if (draw.Below(2) == 1) std::reverse(controls.begin(), controls.end());
  return controls;
}

int ExitCode(const Campaign& campaign) {
  if (campaign.stopped.why == "interrupted") return kInterrupted;
  if (EveryProposalRejected(campaign)) return kRefused;
  if (!campaign.incumbent || campaign.incumbent->decisions.empty()) return kNoVerdict;
  const DecisionKind kind = campaign.incumbent->decisions[0].kind;
  return IsClaim(kind) ? kDone : kNoVerdict;
}

Result<Campaign> Play(const RunArguments& arguments, Workshop& shop, TerminalProgress& progress) {
  Recorded recorded;
  ASSAY_TRY(Campaign campaign, arguments.resume ? Resumed(arguments, shop, recorded) : NewCampaign(arguments, shop));
  ASSAY_TRY(std::vector<Template> templates, ReadTemplates(shop.contract));
  ASSAY_TRY(const Space space, Space::Make(std::move(templates)));
  ASSAY_TRY(const auto strategy, MakeStrategy(campaign.strategy, space, Seed::FromNumber(campaign.seed)));
  ASSAY_TRY(const Admission admission,
            shop.Admitted([&] { progress.Entered(campaign, "admission", shop.contract.name); }));
  if (!admission.admitted) {
    return Error{ErrorCode::kInvalidInput, shop.contract.name +
                                               " is not admitted: " + Join(admission.complaints, "; ") +
                                               "; see `assay contract check " + shop.contract.name + "`"};
  }
  ListenForInterrupts();
  if (!arguments.resume) ASSAY_TRY_STATUS(shop.ledger->Begin(campaign));
  CampaignHistory history;
  SystemClock clock;
  const Tools tools{*shop.builder, shop.inspector, *shop.gate, *shop.timer, history,
                    *shop.ledger,  *strategy,      clock,      progress,    g_interrupted};
  CampaignOptions options;
  ASSAY_TRY(options.controls, DrawControls(shop));
  ASSAY_TRY_STATUS(RunCampaign(shop.contract, campaign, recorded, options, tools));
  for (const StrategyEntry& entry : Strategies()) {
    if (entry.name != campaign.strategy) campaign.stopped.untried.emplace_back(entry.name);
  }
  for (ReferenceRecord& reference : campaign.references) {
    const ReferenceKernel* kernel = shop.contract.FindReference(reference.name);
    if (kernel == nullptr || reference.rejected) continue;
    ASSAY_TRY(reference.kernel_family, PeerInfo(shop.contract, *kernel, shop.threads));
  }
  return campaign;
}

}  // namespace

Result<int> Command(const RunArguments& arguments) {
  ASSAY_TRY_STATUS(CheckTargets({arguments.json, arguments.report}));
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  TerminalProgress progress(terminal, OutputWidth(), terminal && std::getenv("NO_COLOR") == nullptr);
  WorkshopOptions options{arguments.threads, arguments.workloads, arguments.margin,
                          [&progress](const std::string& text) { progress.Remark(text); }};
  ASSAY_TRY(Workshop shop, Workshop::Open(arguments.contract, options));
  ASSAY_TRY(const Campaign campaign, Play(arguments, shop, progress));
  progress.Close();
  const std::string page =
      arguments.report.empty() ? "report-" + campaign.contract + "-" + campaign.id + ".html" : arguments.report;
  ASSAY_TRY_STATUS(WriteFileAtomically(page, CampaignHtml(campaign)));
  ASSAY_TRY_STATUS(WriteJson(arguments.json, CampaignJson(campaign)));
  if (arguments.json != "-") {
    Print("\n" + CampaignSummary(campaign, OutputWidth()));
    if (campaign.stopped.why == "interrupted")
      Print("  continue: assay run " + arguments.contract + " --resume " + campaign.id + "\n");
    Print("  replay: " + campaign.command + "\n  report: " + std::filesystem::absolute(page).string() + "\n");
  }
  return ExitCode(campaign);
}

}  // namespace assay
