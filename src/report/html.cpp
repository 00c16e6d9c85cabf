// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/summary.h"
#include "report/svg.h"

namespace assay {
namespace {

constexpr const char* kStyle = R"css(
:root{--ink:#1b1f24;--soft:#5b6570;--line:#d9dee3;--paper:#fff;--panel:#f6f8fa;--good:#1a7f37;--bad:#b42318;--mid:#9a6700;--mark:#0b57d0}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa5b1;--line:#333b45;--paper:#0f1419;--panel:#171d24;--good:#4ac26b;--bad:#ff7b72;--mid:#d4a72c;--mark:#79b8ff}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}h1{font-size:25px;line-height:1.25;margin:0 0 4px}h2{font-size:18px;margin:34px 0 8px}
p{margin:6px 0}.soft{color:var(--soft)}code,pre{font:13px/1.45 ui-monospace,"SF Mono",Menlo,Consolas,monospace}pre{background:var(--panel);padding:10px 12px;overflow-x:auto;border-radius:6px;margin:8px 0}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;margin:8px 0}th,td{text-align:left;padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600;font-size:13px}
td.n,th.n{text-align:right}.scroll{overflow-x:auto}.good{color:var(--good)}.bad{color:var(--bad)}.mid{color:var(--mid)}.facts{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:12px 0}.facts dt{color:var(--soft)}.facts dd{margin:0}
svg{max-width:100%;height:auto;display:block}svg text{fill:var(--soft);font:12px system-ui,sans-serif}details{margin:4px 0}summary{cursor:pointer}
)css";

std::string Cell(const std::string& text, bool number = false) {
  return std::string("<td") + (number ? " class=n" : "") + ">" + EscapeHtml(text) + "</td>";
}

const char* Colour(DecisionKind kind) {
  return kind == DecisionKind::kFaster ? "good" : kind == DecisionKind::kSlower ? "bad" : "mid";
}
const char* Colour(OutcomeKind kind) {
  return kind == OutcomeKind::kVerified ? "good" : kind == OutcomeKind::kUndecided ? "soft" : "bad";
}

std::string Fact(const std::string& name, const std::string& value) {
  return "<dt>" + EscapeHtml(name) + "</dt><dd>" + EscapeHtml(value) + "</dd>";
}

std::string Top(const Campaign& c) {
  std::string out = "<h1>" + EscapeHtml(Headline(c)) + "</h1><dl class=facts>";
  for (const Recheck& recheck : c.rechecks) {
    const std::string text = recheck.rejected
                                 ? fmt::format("{}, refused at {}: {}: {}", recheck.when, Name(recheck.rejected->stage),
                                               Name(recheck.rejected->reason), Printable(recheck.rejected->evidence))
                                 : recheck.when + ", stands";
    out += Fact(recheck.rejected ? "Retracted" : "Proved again", text);
  }
  if (c.incumbent && !c.incumbent->decisions.empty()) {
    const Decision& d = c.incumbent->decisions[0];
    out += Fact("Claim", fmt::format("{} against {} on workload {}, {} threads", Name(d.kind), d.against, d.workload,
                                     c.threads));
    out += Fact(
        "Interval",
        fmt::format("{} .. {} from {} restart groups (order statistics of the groups' medians); reproduction {} .. {}",
                    Times(d.low), Times(d.high), d.groups, Times(d.reproduction_low), Times(d.reproduction_high)));
    out += Fact("Strongest reference", d.against);
    out += Fact("Floor", c.incumbent->floor_fraction ? FloorShare(*c.incumbent)
                                                     : "none: no decision, or no peak that could be believed");
  }
  out += Fact("Machine", fmt::format("{}, {} cores, {:.0f} GiB, {}", c.machine.processor, c.machine.cores,
                                     c.machine.memory_gib, c.machine.kernel));
  out += Fact("Contract", c.contract + ", " + c.contract_hash.substr(0, 16));
  out += Fact("Time", Seconds(c.wall_seconds) + ", stopped: " + c.stopped.why);
  return out + "</dl><p class=soft>Replay:</p><pre>" + EscapeHtml(c.command) + "</pre>";
}

std::string Range(double low, double high) { return !(low > 0) ? "-" : Times(low) + " .. " + Times(high); }

std::string Decisions(const Campaign& c) {
  if (!c.incumbent) return "";
  std::string out =
      "<h2>Decisions</h2><div class=scroll><table><tr><th>against<th>workload<th>decision<th class=n>times<th "
      "class=n>interval<th class=n>reproduction<th class=n>groups<th class=n>redrawn</tr>";
  for (const Decision& d : c.incumbent->decisions) {
    out += "<tr>" + Cell(d.against) + Cell(d.workload) + "<td class=" + Colour(d.kind) + ">" +
           std::string(Name(d.kind)) + "</td>" + Cell(d.value ? Times(*d.value) : "-", true) +
           Cell(Range(d.low, d.high), true) + Cell(Range(d.reproduction_low, d.reproduction_high), true) +
           Cell(std::to_string(d.groups), true) + Cell(std::to_string(d.redrawn), true) + "</tr>";
    if (!d.note.empty()) out += "<tr><td colspan=8 class=soft>" + EscapeHtml(d.note) + "</td></tr>";
    for (const RegimeFigure& regime : d.regimes)
      out += "<tr><td colspan=8 class=soft>" + EscapeHtml(RegimeLine(regime, 1000)) + "</td></tr>";
  }
  out += "</table></div>";
  for (const Decision& d : c.incumbent->decisions) {
    if (d.workload == c.incumbent->decisions[0].workload) out += DecisionSvg(d);
  }
  if (c.decision) {
    out += UnitsSvg(*c.decision, c.incumbent->decisions[0].workload);
    const Decision& first = c.incumbent->decisions[0];
    for (const auto& [arm, seconds] : c.decision->prepare_seconds)
      out += fmt::format("<p class=soft>Packing of {}: {} for the weights of a call, not part of it.</p>",
                         EscapeHtml(arm), Seconds(seconds));
    if (first.restarts > 0) {
      out += fmt::format("<p class=soft>Of {} restarts of the winner {} {} slower than {} by more than 5 %.</p>",
                         first.restarts, first.bad_restarts, first.bad_restarts == 1 ? "was" : "were",
                         EscapeHtml(first.against));
    }
    out += fmt::format(
        "<p class=soft>The trusted arm against its own copy: {} .. {}; the planted 3 % was {}.</p>",
        Times(std::exp(c.decision->aa_low)), Times(std::exp(c.decision->aa_high)),
        c.decision->control_found ? "found" : "not found, so only what is larger than the margin is claimed");
  }
  return out;
}

std::string References(const Campaign& c) {
  std::string out =
      "<h2>References</h2><div class=scroll><table><tr><th>name<th>kind<th>flags<th>kernel family<th>workload<th "
      "class=n>a call<th class=n>of the floor</tr>";
  for (const ReferenceRecord& r : c.references) {
    const std::string head = Cell(r.name) + Cell(r.kind) + Cell(Join(r.flags, " ")) + Cell(r.kernel_family);
    if (r.rejected)
      out += "<tr>" + head + "<td colspan=3 class=bad>rejected: " +
             EscapeHtml(std::string(Name(r.rejected->reason)) + ", " + Cut(r.rejected->evidence, 300)) + "</td></tr>";
    for (const Estimate& e : r.workloads) {
      out += "<tr>" + head + Cell(e.workload) + Cell(Seconds(e.seconds), true) +
             Cell(e.floor_fraction ? fmt::format("{:.3f}", *e.floor_fraction) : "-", true) + "</tr>";
    }
    if (!r.rejected && r.workloads.empty())
      out += "<tr>" + head + "<td colspan=3 class=soft>verified, not timed</td></tr>";
  }
  return out + "</table></div>";
}

std::string AttemptRow(const Attempt& a) {
  const std::string parents = [&] {
    std::string text;
    for (const int64_t parent : a.proposal.parents) text += (text.empty() ? "" : " ") + std::to_string(parent);
    return text;
  }();
  std::string fate = a.rejected       ? std::string(Name(a.rejected->reason))
                     : a.duplicate_of ? "same code as " + std::to_string(*a.duplicate_of)
                                      : std::string(Name(a.trust));
  for (const Note note : a.notes) {
    if (note == Note::kDropped) fate += ", dropped";
  }
  const Estimate* e = a.estimates.empty() ? nullptr : &a.estimates[0];
  std::string out =
      "<tr>" + Cell(std::to_string(a.ordinal), true) + Cell(CandidateLabel(a.proposal.candidate)) +
      Cell(a.proposal.proposer + (parents.empty() ? "" : " of " + parents)) + "<td class=" + Colour(a.outcome) + ">" +
      std::string(Name(a.outcome)) + "</td>" + Cell(fate) + Cell(e != nullptr ? Seconds(e->seconds) : "", true) +
      Cell(e != nullptr && e->floor_fraction ? fmt::format("{:.3f}", *e->floor_fraction) : "", true) +
      Cell(fmt::format("{:.1f}",
                       a.seconds.build + a.seconds.screen + a.seconds.verify + a.seconds.measure + a.seconds.exam),
           true) +
      "</tr>";
  if (a.rejected) {
    out += "<tr><td></td><td colspan=7><details><summary class=bad>" +
           EscapeHtml(a.rejected->check.empty() ? "why" : a.rejected->check) + "</summary><pre>" +
           EscapeHtml(Printable(a.rejected->evidence)) + "</pre><p class=soft>" +
           EscapeHtml(std::string(Advice(a.rejected->reason))) + "</p></details></td></tr>";
  }
  return out;
}

std::string Attempts(const Campaign& c) {
  std::string out = "<h2>Attempts</h2><p class=soft>" + EscapeHtml(OutcomeCounts(c)) + "</p>" + AttemptsSvg(c) +
                    "<div class=scroll><table><tr><th class=n>#<th>candidate<th>proposer<th>outcome<th>trust or "
                    "reason<th class=n>a call (estimate)<th class=n>of the floor<th class=n>seconds spent</tr>";
  for (const Attempt& a : c.attempts) out += AttemptRow(a);
  return out + "</table></div>";
}

std::string Conditions(const Campaign& c) {
  std::string out = "<h2>Conditions</h2><dl class=facts>";
  for (const auto& [name, version] : c.versions) out += Fact(name, version);
  out += Fact("walls", Join(c.machine.walls, ", "));
  if (!c.machine.gaps.empty()) out += Fact("walls missing", Join(c.machine.gaps, "; "));
  out += Fact("strategy", c.strategy) +
         Fact("seed", fmt::format("{} (hash committed at the start: {})", c.seed, c.seed_hash.substr(0, 16)));
  std::string peaks;
  for (const ElementPeak& peak : c.rates.peaks) {
    peaks += fmt::format("{} peak {:.4g} G/s with 1 thread, {:.4g} with all; ", peak.element, peak.one_thread / 1e9,
                         peak.all_threads / 1e9);
  }
  out += Fact("rates in this run",
              fmt::format("f32 peak {:.4g} GFLOP/s with 1 thread, {:.4g} with all; {}copy {:.4g}, triad {:.4g}, read "
                          "{:.4g} GB/s; clock {:.3g} GHz",
                          c.rates.f32_peak_1t / 1e9, c.rates.f32_peak / 1e9, peaks, c.rates.copy_bytes / 1e9,
                          c.rates.triad_bytes / 1e9, c.rates.read_bytes / 1e9, c.rates.clock_hz / 1e9));
  std::string caches;
  for (const CacheRate& cache : c.rates.caches) {
    caches += fmt::format("{}L{} {:.4g} GB/s with 1 thread, {:.4g} with all", caches.empty() ? "" : "; ", cache.level,
                          cache.one_thread / 1e9, cache.all_threads / 1e9);
  }
  if (!caches.empty()) out += Fact("rates calibrated", caches);
  return out + Fact("where the time went", SpentText(c)) + "</dl>";
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string CampaignHtml(const Campaign& campaign) {
  return "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
         "content=\"width=device-width,initial-scale=1\"><title>" +
         EscapeHtml(campaign.contract) + " - assay</title><style>" + kStyle + "</style><main>" + Top(campaign) +
         Decisions(campaign) + References(campaign) + Attempts(campaign) + Conditions(campaign) + "</main></html>\n";
}

}  // namespace assay
