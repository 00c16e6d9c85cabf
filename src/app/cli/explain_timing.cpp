// SPDX-License-Identifier: Apache-2.0
//
// A timing computed again from what the ledger keeps of it: raw units and, of a decision, its design.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/explain_timing.h"
#include "app/cli/output.h"
#include "app/cli/workshop.h"
#include "base/text.h"
#include "measure/decide.h"
#include "measure/environment.h"
#include "measure/figures.h"
#include "numerics/statistics.h"
#include "report/summary.h"
#include "report/table.h"

namespace assay {
namespace {

struct Named {
  std::string campaign;  // "" = the newest
  int64_t ordinal = 0;
};

// "12" of the newest campaign, or "CAMPAIGN/12".
Result<Named> ParseAttemptName(const std::string& text) {
  const size_t slash = text.rfind('/');
  const std::string number = slash == std::string::npos ? text : text.substr(slash + 1);
  Named named{slash == std::string::npos ? "" : text.substr(0, slash), 0};
  const auto end = std::from_chars(number.data(), number.data() + number.size(), named.ordinal);
  if (end.ec != std::errc() || end.ptr != number.data() + number.size() || named.ordinal < 1) {
    return Error{
        ErrorCode::kInvalidInput,
        Printable(text) + " is no attempt; give its number, or CAMPAIGN/NUMBER (`assay ledger show` lists them)"};
  }
  return named;
}

// What is not finite is kept as one word, whichever it was.
bool SameNumber(double a, double b) { return a == b || (!std::isfinite(a) && !std::isfinite(b)); }

bool SameRegimes(const std::vector<RegimeFigure>& a, const std::vector<RegimeFigure>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const RegimeFigure& x, const RegimeFigure& y) {
    return x.values == y.values && x.times == y.times && x.restarts == y.restarts && x.bad_restarts == y.bad_restarts;
  });
}

bool SameDecisions(std::vector<Decision> stored, const DecisionReport& report, const Evidence& again) {
  std::vector<Decision> computed = again.decisions;
  SortByStrength(computed, report.design.workloads.front());
  // References that were refused while timed have no units to recompute anything from.
  std::erase_if(stored, [&](const Decision& d) {
    const auto& all = report.design.references;
    return std::find(all.begin(), all.end(), d.against) == all.end();
  });
  return std::equal(
      stored.begin(), stored.end(), computed.begin(), computed.end(), [](const Decision& a, const Decision& b) {
        return a.against == b.against && a.workload == b.workload && a.kind == b.kind && a.value == b.value &&
               a.low == b.low && a.high == b.high && SameNumber(a.margin, b.margin) && a.groups == b.groups &&
               a.reproduction_low == b.reproduction_low && a.reproduction_high == b.reproduction_high &&
               a.restarts == b.restarts && a.bad_restarts == b.bad_restarts &&
               a.group_log_ratios == b.group_log_ratios && SameRegimes(a.regimes, b.regimes);
      });
}

size_t GroupsIn(std::span<const RawUnit> units, bool census) {
  std::set<int> groups;
  for (const RawUnit& unit : units) {
    if (unit.census == census && !unit.redrawn) groups.insert(unit.group);
  }
  return groups.size();
}

void ExplainDecision(const Decision& d, const DecisionReport& report, size_t width) {
  Print(Wrap(
      fmt::format("against {} on {}: {}{}", d.against, d.workload, Name(d.kind), d.value ? " " + Times(*d.value) : ""),
      width, "\n", "  "));
  TextTable looks({"look at", "margin", "faster by more", "slower by more", "needed"});
  for (const LookSeen& look : LooksAt(report.units, report.design, d.against, d.workload)) {
    looks.Add({fmt::format("{} groups", look.groups), fmt::format("{:.2f} %", 100 * std::expm1(look.margin)),
               std::to_string(look.faster), std::to_string(look.slower), std::to_string(look.needed)});
  }
  Print(looks.Render(width));
  std::vector<std::string> ratios;
  for (const double ratio : d.group_log_ratios) ratios.push_back(fmt::format("{:.4f}", std::exp(ratio)));
  Print(Wrap("times, by group: " + Join(ratios, " "), width, "  ", "    "));
  Print(Wrap(fmt::format("interval of the median at {:.4g} a side: {:.4f} .. {:.4f}; with the spread between runs: "
                         "{:.4f} .. {:.4f}",
                         d.alpha, d.low, d.high, d.reproduction_low, d.reproduction_high),
             width, "  ", "    "));
  if (d.restarts > 0)
    Print(Wrap(fmt::format("restarts slower by more than {:.0f} %: {} of {}", 100 * std::expm1(kRegret), d.bad_restarts,
                           d.restarts),
               width, "  ", "    "));
  for (const RegimeFigure& regime : d.regimes) Print(RegimeLine(regime, width));
  if (!d.note.empty()) Print(Wrap(d.note, width, "  ", "    "));
}

// In situ: how much of an arm's units its kernel is.
void ExplainShares(std::span<const RawUnit> units, size_t width) {
  std::set<std::pair<std::string, std::string>> arms;
  for (const RawUnit& unit : units) {
    if (unit.own_ns != 0 && !unit.redrawn) arms.insert({unit.workload, unit.arm});
  }
  for (const auto& [workload, arm] : arms) {
    Print(Wrap(fmt::format("{}, in situ: {:.0f} % of {} is its own kernel's time, the rest its neighbours'", workload,
                           100 * OwnShare(units, workload, arm), arm),
               width, "", "  "));
  }
}

std::string ProbeLine(std::span<const GroupProbe> probes) {
  if (probes.empty()) return "nothing was probed between the units";
  const auto slowest = std::max_element(probes.begin(), probes.end(),
                                        [](const GroupProbe& a, const GroupProbe& b) { return a.slowed < b.slowed; });
  const auto beyond =
      std::count_if(probes.begin(), probes.end(), [](const GroupProbe& p) { return !(p.slowed <= kProbeShare); });
  return fmt::format(
      "fixed work of our own between the units: at most {:.1f} % longer than usual (group {}, {}); beyond {:.0f} % in "
      "{} of {} groups",
      100 * slowest->slowed, slowest->group, slowest->workload, 100 * kProbeShare, beyond, probes.size());
}

// Which groups count nowhere, and why.
std::string RedrawLine(std::span<const GroupRedraw> redraws) {
  std::vector<std::string> groups;
  for (const GroupRedraw& redraw : redraws)
    groups.push_back(fmt::format("group {} ({})", redraw.group, Printable(redraw.why)));
  return "drawn again: " + (groups.empty() ? "no group" : Join(groups, ", "));
}

// True when what is stored is what its units say.
bool ExplainReport(const DecisionReport& report, size_t width) {
  const Evidence again = DecideFromUnits(report.units, report.design);
  const bool same = SameDecisions(report.decisions, report, again);
  Print(Wrap(fmt::format("{} raw units in {} groups and {} short ones; computed again from them: {}",
                         report.units.size(), GroupsIn(report.units, false), GroupsIn(report.units, true),
                         same ? "the same to the last digit" : "NOT what is stored"),
             width, "", "  "));
  Print(Wrap(fmt::format("{} against its own copy: {:.4f} .. {:.4f}; a planted {:.0f} % was {}", report.design.witness,
                         std::exp(again.aa_low), std::exp(again.aa_high), 100 * report.design.plant,
                         report.design.control_found_before ? "found before"
                         : again.control_found              ? "found"
                                                            : "NOT found"),
             width, "", "  "));
  Print(Wrap(ProbeLine(report.probes), width, "", "  "));
  Print(Wrap(RedrawLine(report.redraws), width, "", "  "));
  for (const Decision& decision : report.decisions) ExplainDecision(decision, report, width);
  ExplainShares(report.units, width);
  return same;
}

void ExplainUnits(const std::string& level, std::span<const RawUnit> units, size_t width) {
  const Figures figures(units);
  Print(fmt::format("\n{}: {} raw units in {} groups\n", level, units.size(), figures.Groups().size()));
  std::set<std::string> workloads;
  for (const RawUnit& unit : units) workloads.insert(unit.workload);
  TextTable table({"workload", "arm", "a call", "groups"});
  for (const std::string& workload : workloads) {
    for (const std::string& arm : figures.Arms(workload)) {
      table.Add({workload, arm, Seconds(figures.Seconds(workload, arm).value_or(0)),
                 std::to_string(figures.GroupSeconds(workload, arm).size())});
    }
  }
  Print(table.Render(width));
  ExplainShares(units, width);
}

}  // namespace

Result<int> ExplainTiming(const std::string& subject) {
  ASSAY_TRY(const Named named, ParseAttemptName(subject));
  ASSAY_TRY(const auto ledger, OpenLedger());
  ASSAY_TRY(const Campaign campaign, ledger->Load(named.campaign));
  const auto attempt = std::find_if(campaign.attempts.begin(), campaign.attempts.end(),
                                    [&](const Attempt& one) { return one.ordinal == named.ordinal; });
  if (attempt == campaign.attempts.end()) {
    return Error{ErrorCode::kNotFound, fmt::format("campaign {} has no attempt {}; it has {}", campaign.id,
                                                   named.ordinal, campaign.attempts.size())};
  }
  const size_t width = OutputWidth();
  Print(Wrap(fmt::format("attempt {} of campaign {} ({}): {}", attempt->ordinal, campaign.id, campaign.contract,
                         CandidateLabel(attempt->proposal.candidate)),
             width, "", "  "));
  bool same = true;
  const bool crowned = campaign.incumbent && campaign.incumbent->attempt == named.ordinal && campaign.decision;
  if (crowned && campaign.decision->design.references.empty()) {
    Print("its decision was kept by a version that did not keep what had been asked\n");
  } else if (crowned) {
    same = ExplainReport(*campaign.decision, width);
  }
  ASSAY_TRY(const auto levels, ledger->LoadUnits(campaign.id, named.ordinal));
  for (const auto& [level, units] : levels) ExplainUnits("timed when " + level, units, width);
  if (levels.empty() && !crowned) Print("it was never timed\n");
  return same ? kDone : kRefused;
}

}  // namespace assay
