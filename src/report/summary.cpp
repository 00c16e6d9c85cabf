// SPDX-License-Identifier: Apache-2.0
#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "report/table.h"

namespace assay {
namespace {

// What bounds a floor, as a rate.
std::string Rate(const Floor& floor) {
  const bool integers = floor.bound_by.starts_with('i');
  return fmt::format("{:.4g} {}", floor.peak_in_run / 1e9, floor.OfBytes() ? "GB/s" : integers ? "Gop/s" : "GFLOP/s");
}

std::string Restarts(int count) { return fmt::format("{} restart{}", count, count == 1 ? "" : "s"); }
std::string Interval(const Decision& d) { return !(d.low > 0) ? "-" : Times(d.low) + " .. " + Times(d.high); }

// Where the winner gains least; null when nothing was timed alone.
const RegimeFigure* WorstRegime(const Decision& d) {
  const RegimeFigure* worst = nullptr;
  for (const RegimeFigure& regime : d.regimes) {
    if (regime.times && (worst == nullptr || *regime.times < *worst->times)) worst = &regime;
  }
  return worst;
}

std::string DecisionTable(const std::vector<Decision>& decisions, size_t width) {
  const bool many = std::any_of(decisions.begin(), decisions.end(),
                                [&](const Decision& d) { return d.workload != decisions[0].workload; });
  TextTable table(many
                      ? std::vector<std::string>{"against", "workload", "decision", "times", "interval", "groups"}
                      : std::vector<std::string>{"against", "decision", "times", "interval", "reproduction", "groups"});
  for (const Decision& d : decisions) {
    const std::string value = d.value ? Times(*d.value) : "-";
    if (many)
      table.Add({d.against, d.workload, std::string(Name(d.kind)), value, Interval(d), std::to_string(d.groups)});
    if (!many) {
      table.Add({d.against, std::string(Name(d.kind)), value, Interval(d),
                 !(d.reproduction_low > 0) ? "-" : Times(d.reproduction_low) + " .. " + Times(d.reproduction_high),
                 std::to_string(d.groups)});
    }
  }
  std::string out = table.Render(width);
  for (const Decision& d : decisions) {
    if (!d.note.empty()) out += Wrap(d.against + ": " + d.note, width, "  ", "    ");
    if (const RegimeFigure* worst = WorstRegime(d))
      out += Wrap(fmt::format("{}: worst where all values are {}: {} ({})", d.against, worst->values,
                              Times(*worst->times), Restarts(worst->restarts)),
                  width, "  ", "    ");
  }
  return out;
}

const Attempt* FindAttempt(const Campaign& campaign, int64_t ordinal) {
  for (const Attempt& attempt : campaign.attempts) {
    if (attempt.ordinal == ordinal) return &attempt;
  }
  return nullptr;
}

std::string FloorLine(const Incumbent& i) {
  if (!i.floor_fraction) return "floor: none; no decision, or no peak that could be believed";
  return fmt::format("floor: {} ({}), workload {}", FloorShare(i), Rate(i.floor), i.floor.workload);
}

std::string CheckLine(const std::vector<CheckRecord>& checks) {
  int64_t cases = 0;
  for (const CheckRecord& check : checks) cases += check.cases;
  return fmt::format("{} checks, {} cases", checks.size(), cases);
}

}  // namespace

std::string FloorSource(const Floor& floor) { return floor.calibrated ? "calibrated" : "measured in this run"; }

std::string Times(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  return ratio >= 99.95   ? fmt::format("{:.0f}x", ratio)
         : ratio >= 9.995 ? fmt::format("{:.1f}x", ratio)
                          : fmt::format("{:.2f}x", ratio);
}

std::string CandidateLabel(const Candidate& candidate) {
  std::string label = candidate.template_name;
  for (const auto& [knob, value] : candidate.knobs) label += " " + knob + "=" + value;
  for (const std::string& flag : candidate.flags) label += " " + flag;
  return Printable(label);
}

std::string OutcomeCounts(const Campaign& campaign) {
  std::map<std::string, int> outcomes, reasons;
  for (const Attempt& attempt : campaign.attempts) {
    ++outcomes[std::string(Name(attempt.outcome))];
    if (attempt.rejected) ++reasons[std::string(Name(attempt.rejected->reason))];
  }
  std::vector<std::string> parts, why;
  for (const char* outcome : {"verified", "undecided", "rejected", "failed"}) {
    if (outcomes.contains(outcome)) parts.push_back(std::to_string(outcomes[outcome]) + " " + outcome);
  }
  for (const auto& [reason, count] : reasons) why.push_back(reason + " " + std::to_string(count));
  return Join(parts, ", ") + (why.empty() ? "" : " (" + Join(why, ", ") + ")");
}

bool EveryProposalRejected(const Campaign& campaign) {
  return !campaign.attempts.empty() &&
         std::all_of(campaign.attempts.begin(), campaign.attempts.end(),
                     [](const Attempt& a) { return a.outcome == OutcomeKind::kRejected; });
}

std::string Headline(const Campaign& campaign) {
  for (const ControlRecord& control : campaign.controls) {
    if (control.AsExpected()) continue;
    return fmt::format("{}: nothing is claimed, the gate failed its own control: {} {} was {}", campaign.contract,
                       control.must_pass ? "honest kernel" : "planted fault", control.name,
                       control.rejected ? "refused (" + std::string(Name(control.rejected->reason)) + ")" : "verified");
  }
  if (!campaign.incumbent) {
    if (EveryProposalRejected(campaign)) return campaign.contract + ": every proposal was rejected";
    return campaign.contract + ": no candidate was examined" +
           (campaign.stopped.why.empty() ? "" : " (stopped: " + campaign.stopped.why + ")");
  }
  if (const Recheck* retraction = campaign.Retraction()) {
    return fmt::format("{}: RETRACTED, the winner was refused when it was proved again ({})", campaign.contract,
                       Name(retraction->rejected->reason));
  }
  const Incumbent& incumbent = *campaign.incumbent;
  if (incumbent.decisions.empty()) return campaign.contract + ": an examined candidate, no decision";
  const Decision& strongest = incumbent.decisions[0];
  switch (strongest.kind) {
    case DecisionKind::kFaster:
      return fmt::format("{}: {} faster than {}, the strongest reference ({} .. {})", campaign.contract,
                         Times(*strongest.value), strongest.against, Times(strongest.low), Times(strongest.high));
    case DecisionKind::kSame:
      return fmt::format("{}: as fast as {}, the strongest reference", campaign.contract, strongest.against);
    case DecisionKind::kSlower:
      return fmt::format("{}: slower than {}, the strongest reference ({} .. {})", campaign.contract, strongest.against,
                         Times(strongest.low), Times(strongest.high));
    default:
      return fmt::format("{}: {} against {}, the strongest reference; no claim", campaign.contract,
                         Name(strongest.kind), strongest.against);
  }
}

// "controls: honest one_pass.cpp verified, fault half_maximum.cpp refused (wrong_answer)"
std::string ControlLine(const std::vector<ControlRecord>& controls, size_t width) {
  std::vector<std::string> parts;
  for (const ControlRecord& control : controls) {
    const std::string verdict =
        control.rejected ? fmt::format("refused ({})", Name(control.rejected->reason)) : "verified";
    parts.push_back(fmt::format("{} {} {}", control.must_pass ? "honest" : "fault", control.name, verdict));
  }
  return parts.empty() ? "" : Wrap("controls: " + Join(parts, ", "), width, "  ", "    ");
}

std::string RecheckLine(const Recheck& recheck, size_t width) {
  const std::string stamp = recheck.when.empty() ? "" : recheck.when + ", ";
  if (!recheck.rejected)
    return Wrap(fmt::format("proved again: {}attempt {} stands, {}", stamp, recheck.attempt, CheckLine(recheck.checks)),
                width, "  ", "    ");
  const Rejected& why = *recheck.rejected;
  return Wrap(fmt::format("retracted: {}attempt {} was refused at {}, {}: {}", stamp, recheck.attempt, Name(why.stage),
                          Name(why.reason), Printable(Cut(why.evidence, 300))),
              width, "  ", "    ");
}

std::string FloorShare(const Incumbent& i) {
  const std::string interval =
      i.floor_low && i.floor_high ? fmt::format(" ({:.3f} .. {:.3f})", *i.floor_low, *i.floor_high) : std::string();
  return fmt::format("{:.3f}{} of the {} {}", i.floor_fraction.value(), interval, i.floor.bound_by,
                     FloorSource(i.floor));
}

std::string SpentText(const Campaign& campaign) {
  const std::map<std::string, std::string> words = {{"crown", "exam and decision"},
                                                    {"promote", "verification and ranking"},
                                                    {"waiting", "waiting for other programs"}};
  std::vector<std::pair<std::string, double>> stages(campaign.seconds_by_stage.begin(),
                                                     campaign.seconds_by_stage.end());
  std::ranges::stable_sort(stages, std::greater<>{}, &std::pair<std::string, double>::second);
  std::vector<std::string> parts;
  for (const auto& [stage, seconds] : stages) {
    const auto word = words.find(stage);
    parts.push_back((word == words.end() ? stage : word->second) + " " + Seconds(seconds));
  }
  return Join(parts, ", ");
}

std::string CampaignSummary(const Campaign& campaign, size_t width) {
  std::string out = Wrap(Headline(campaign), width, "", "  ") + "\n";
  for (const Recheck& recheck : campaign.rechecks) out += RecheckLine(recheck, width);
  if (campaign.incumbent) {
    out += DecisionTable(campaign.incumbent->decisions, width);
    out += "\n" + Wrap(FloorLine(*campaign.incumbent), width, "  ", "    ");
    if (const Attempt* winner = FindAttempt(campaign, campaign.incumbent->attempt)) {
      out += Wrap(fmt::format("winner: attempt {}, {}", winner->ordinal, CandidateLabel(winner->proposal.candidate)),
                  width, "  ", "    ");
      out +=
          Wrap("proved: " + std::string(Name(winner->trust)) + ", " + CheckLine(winner->checks), width, "  ", "    ");
    }
  }
  out += Wrap(fmt::format("attempts: {}", OutcomeCounts(campaign)), width, "  ", "    ");
  out += ControlLine(campaign.controls, width);
  out += Wrap(fmt::format("machine: {}, {} cores, {} threads used", campaign.machine.processor, campaign.machine.cores,
                          campaign.threads),
              width, "  ", "    ");
  out += fmt::format("  time: {}; stopped: {}\n", Seconds(campaign.wall_seconds), campaign.stopped.why);
  out += Wrap("spent on: " + SpentText(campaign), width, "  ", "    ");
  for (const ReferenceRecord& reference : campaign.references) {
    if (reference.rejected) {
      out += Wrap(fmt::format("left out: {} was rejected, {}: {}", reference.name, Name(reference.rejected->reason),
                              Cut(reference.rejected->evidence, 200)),
                  width, "  ", "    ");
    }
  }
  if (!campaign.rates.refused.empty())
    out += Wrap("rates not believed: " + campaign.rates.refused, width, "  ", "    ");
  return out;
}

std::string VerdictText(const Attempt& attempt, const std::string& contract, size_t width) {
  std::string out;
  const std::string label = CandidateLabel(attempt.proposal.candidate);
  if (attempt.rejected) {
    const Rejected& why = *attempt.rejected;
    out += Wrap(fmt::format("{}: REJECTED at {}, {}", contract, Name(why.stage), Name(why.reason)), width, "", "  ");
    out += Wrap(label, width, "  ", "    ");
    if (!why.check.empty()) out += Wrap("check: " + why.check, width, "  ", "    ");
    if (!why.evidence.empty()) out += Wrap("evidence: " + Printable(why.evidence), width, "  ", "    ");
    out += Wrap("mend: " + std::string(Advice(why.reason)), width, "  ", "    ");
  } else {
    const bool verified = attempt.outcome == OutcomeKind::kVerified;
    out += Wrap(fmt::format("{}: {} ({})", contract, verified ? "VERIFIED" : "stopped", Name(attempt.trust)), width, "",
                "  ");
    out += Wrap(label, width, "  ", "    ");
  }
  TextTable table({"check", "cases", "seconds"});
  for (const CheckRecord& check : attempt.checks)
    table.Add({check.name, std::to_string(check.cases), fmt::format("{:.3f}", check.seconds)});
  if (!attempt.checks.empty()) out += "\n" + table.Render(width);
  for (const CheckRecord& check : attempt.checks) {
    for (const std::string& what : check.not_checked)
      out += Wrap(fmt::format("not checked ({}): {}", check.name, what), width, "", "  ");
  }
  return out;
}

std::string BenchText(const DecisionReport& report, const std::string& a, const std::string& b, size_t width) {
  std::string out = Wrap(a + " against " + b, width, "", "  ") + "\n" + DecisionTable(report.decisions, width) + "\n";
  TextTable table({"workload", "arm", "seconds a call", "of the floor"});
  for (const auto& [workload, arms] : report.workload_seconds) {
    double floor = 0;
    for (const Floor& f : report.floors) floor = f.workload == workload ? f.seconds : floor;
    for (const auto& [arm, seconds] : arms)
      table.Add({workload, arm, Seconds(seconds), floor > 0 ? fmt::format("{:.3f}", floor / seconds) : "-"});
  }
  out += table.Render(width);
  for (const auto& [arm, seconds] : report.prepare_seconds)
    out += Wrap(fmt::format("packing of {}: {} for the weights of a call, not part of it", arm, Seconds(seconds)),
                width, "  ", "    ");
  if (report.power.sigma > 0) {
    out += Wrap(fmt::format("before the run this machine could resolve {:.1f} % in {} with {} thread{}",
                            100 * report.power.resolves, Seconds(report.power.seconds), report.power.threads,
                            report.power.threads == 1 ? "" : "s"),
                width, "  ", "    ");
  }
  for (const Floor& f : report.floors) {
    if (!(f.seconds > 0)) {
      out += Wrap(fmt::format("floor of {}: none; {} bounds it", f.workload, f.bound_by), width, "  ", "    ");
      continue;
    }
    out += Wrap(fmt::format("floor of {}: {} by {} ({} {})", f.workload, Seconds(f.seconds), f.bound_by, Rate(f),
                            FloorSource(f)),
                width, "  ", "    ");
  }
  if (!report.rates.refused.empty()) out += Wrap("rates not believed: " + report.rates.refused, width, "  ", "    ");
  return out;
}

std::string RegimeLine(const RegimeFigure& regime, size_t width) {
  return Wrap(fmt::format("all values {}: {}, {}{}", regime.values,
                          regime.times ? Times(*regime.times) : "not measured", Restarts(regime.restarts),
                          regime.bad_restarts > 0 ? fmt::format(", {} with regret", regime.bad_restarts) : ""),
              width, "  ", "    ");
}

std::string ComparisonLine(int number, const Comparison& comparison) {
  const Decision& d = comparison.Telling();
  return fmt::format("{}: {}{}, {}, {} groups, {}", number, Name(d.kind), d.value ? " " + Times(*d.value) : "",
                     Interval(d), d.groups, Seconds(comparison.seconds));
}

std::string ComparisonsText(std::span<const Comparison> comparisons, const std::string& a, const std::string& b,
                            size_t width) {
  std::string out = Wrap(fmt::format("{} against {}, {} times", a, b, comparisons.size()), width, "", "  ") + "\n";
  TextTable table({"", "decision", "times", "interval", "groups", "seconds"});
  std::map<std::string, int> tally;
  for (size_t i = 0; i < comparisons.size(); ++i) {
    const Decision& d = comparisons[i].Telling();
    ++tally[std::string(Name(d.kind))];
    table.Add({std::to_string(i + 1), std::string(Name(d.kind)), d.value ? Times(*d.value) : "-", Interval(d),
               std::to_string(d.groups), fmt::format("{:.1f}", comparisons[i].seconds)});
  }
  out += table.Render(width) + "\n";
  std::vector<std::string> counts;
  for (const auto& [kind, count] : tally) counts.push_back(fmt::format("{} {}", count, kind));
  out += "  " + Join(counts, ", ") + "\n";
  // Notes say why there is no claim; the same one is told once.
  std::set<std::string> notes;
  for (const Comparison& one : comparisons) {
    const std::string& note = one.Telling().note;
    if (!note.empty() && notes.insert(note).second) out += Wrap(note, width, "  - ", "    ");
  }
  return out;
}

std::string AdmissionText(const Admission& admission, const std::string& contract, size_t width) {
  std::string out = contract + (admission.admitted ? ": admitted\n\n" : ": NOT admitted\n\n");
  TextTable table({"case", "must", "worst/limit", "as expected", "worst regime"});
  for (const AdmissionCase& c : admission.cases) {
    table.Add({c.name, c.must_pass ? "pass" : "fail",
               std::isfinite(c.worst_over_limit) ? fmt::format("{:.3g}", c.worst_over_limit) : "-",
               c.as_expected ? "yes" : "NO", c.worst_regime});
  }
  out += table.Render(width);
  out += fmt::format("\n  separation: smallest mutant {:.3g}, largest honest error {:.3g} (of the limit)\n",
                     admission.smallest_mutant, admission.largest_honest);
  for (const std::string& complaint : admission.complaints) out += Wrap(complaint, width, "  - ", "    ");
  return out;
}

}  // namespace assay
