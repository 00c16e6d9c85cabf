// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/places.h"
#include "app/cli/progress.h"
#include "app/cli/workshop.h"
#include "base/file.h"
#include "base/text.h"
#include "report/html.h"
#include "report/summary.h"
#include "report/table.h"

namespace assay {

Result<std::unique_ptr<SqliteLedger>> OpenLedger() {
  const std::filesystem::path folder = WorkspaceFolder() / ".assay";
  std::error_code error;
  if (!std::filesystem::exists(folder / "ledger.db", error)) {
    return Error{ErrorCode::kNotFound, "no ledger in " + folder.string() + "; run `assay run CONTRACT` first"};
  }
  return SqliteLedger::Open(folder);
}

Result<int> Command(const LedgerArguments& arguments) {
  ASSAY_TRY(const auto ledger, OpenLedger());
  if (arguments.action == "check") {
    ASSAY_TRY(const int64_t rows, ledger->CheckChain());
    Print(fmt::format("{} rows, each as it was written\n", rows));
    return kDone;
  }
  if (arguments.action == "show") {
    ASSAY_TRY(const Campaign campaign, ledger->Load(arguments.campaign));
    Print(CampaignSummary(campaign, OutputWidth()) + "\n");
    for (const Attempt& attempt : campaign.attempts) Print(AttemptLine(campaign, attempt, OutputWidth()));
    return kDone;
  }
  ASSAY_TRY(const auto lines, ledger->Campaigns());
  TextTable table({"campaign", "contract", "started", "attempts", "stopped"});
  for (const CampaignLine& line : lines) {
    table.Add({line.id, line.contract, line.started, std::to_string(line.attempts),
               line.retracted         ? "RETRACTED"
               : line.stopped.empty() ? "unfinished"
                                      : line.stopped});
  }
  Print(lines.empty() ? "no campaigns yet\n" : table.Render(OutputWidth(), ""));
  return kDone;
}

Result<int> Command(const ReportArguments& arguments) {
  ASSAY_TRY(const auto ledger, OpenLedger());
  ASSAY_TRY(const Campaign campaign, ledger->Load(arguments.campaign));
  const std::string path =
      arguments.out.empty() ? "report-" + campaign.contract + "-" + campaign.id + ".html" : arguments.out;
  ASSAY_TRY_STATUS(WriteFileAtomically(path, CampaignHtml(campaign)));
  Print(path + "\n");
  return kDone;
}

}  // namespace assay
