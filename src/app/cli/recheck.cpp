// SPDX-License-Identifier: Apache-2.0
#include "engine/recheck.h"

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/places.h"
#include "app/cli/workshop.h"
#include "base/text.h"
#include "record/json.h"
#include "report/summary.h"
#include "report/table.h"

namespace assay {
namespace {

// The campaigns whose claims are asked about: one, or all that ended with an examined winner.
Result<std::vector<Campaign>> Claims(SqliteLedger& ledger, const std::string& asked) {
  std::vector<Campaign> claims;
  if (!asked.empty()) {
    ASSAY_TRY(Campaign campaign, ledger.Load(asked));
    claims.push_back(std::move(campaign));
    return claims;
  }
  ASSAY_TRY(const auto lines, ledger.Campaigns());
  for (const CampaignLine& line : lines) {
    ASSAY_TRY(Campaign campaign, ledger.Load(line.id));
    if (campaign.incumbent && campaign.incumbent->examined) claims.push_back(std::move(campaign));
  }
  return claims;
}

struct Tally {
  TextTable table{{"campaign", "contract", "attempt", "verdict", "why"}};
  std::vector<Recheck> made;
  int retracted = 0, failed = 0;

  void Add(const Campaign& campaign, const std::string& verdict, const std::string& why) {
    const std::string attempt = campaign.incumbent ? std::to_string(campaign.incumbent->attempt) : "-";
    table.Add({campaign.id, campaign.contract, attempt, verdict, Printable(Cut(why, 200))});
  }
};

// A ledger knows a contract's name; where its folder lies outside the usual places, the user says so.
Result<Workshop> Shop(const Campaign& campaign, const std::string& folder) {
  const WorkshopOptions options{campaign.threads, {}, 0, {}};
  if (!folder.empty()) {
    ASSAY_TRY(Workshop there, Workshop::Open(folder, options));
    if (there.contract.name == campaign.contract) return there;
  }
  return Workshop::Open(campaign.contract, options);
}

Result<Recheck> Again(const Campaign& campaign, const RecheckArguments& arguments, SqliteLedger& ledger,
                      bool& skipped) {
  ASSAY_TRY(Workshop shop, Shop(campaign, arguments.contract));
  const Versions versions = VersionsHere(shop.contract);
  skipped = !arguments.all && ProvedUnder(campaign, versions);
  if (skipped) return Recheck{};
  ASSAY_TRY(Recheck recheck, ProveAgain(shop.contract, campaign, versions, *shop.builder, *shop.gate));
  // Written before the next begins: a kill loses the proof that was under way, none that was made.
  ASSAY_TRY_STATUS(ledger.AppendRecheck(recheck));
  return recheck;
}

}  // namespace

Result<int> Command(const RecheckArguments& arguments) {
  ASSAY_TRY_STATUS(CheckTargets({arguments.json}));
  ListenForInterrupts();
  ASSAY_TRY(const auto ledger, OpenLedger());
  ASSAY_TRY(const std::vector<Campaign> claims, Claims(*ledger, arguments.campaign));
  Tally tally;
  for (const Campaign& campaign : claims) {
    if (g_interrupted) return kInterrupted;
    bool skipped = false;
    const Result<Recheck> recheck = Again(campaign, arguments, *ledger, skipped);
    if (!recheck.ok()) {
      // One contract that is gone must not keep the others from being proved.
      ++tally.failed;
      tally.Add(campaign, "NOT PROVED", recheck.error().message);
    } else if (skipped) {
      tally.Add(campaign, "current", "proved under this gate and these compilers");
    } else {
      const auto& rejected = recheck.value().rejected;
      tally.retracted += rejected ? 1 : 0;
      tally.Add(campaign, rejected ? "RETRACTED" : "stands",
                rejected ? std::string(Name(rejected->reason)) + ": " + rejected->evidence : "");
      tally.made.push_back(recheck.value());
    }
  }
  if (!arguments.json.empty()) ASSAY_TRY_STATUS(WriteJson(arguments.json, RechecksJson(tally.made)));
  if (arguments.json != "-") {
    Print(claims.empty() ? "no campaign here claims anything\n" : tally.table.Render(OutputWidth(), ""));
  }
  if (tally.retracted > 0) return kRefused;
  return tally.failed > 0 ? kNoVerdict : kDone;
}

}  // namespace assay
