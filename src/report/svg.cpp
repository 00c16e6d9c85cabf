// SPDX-License-Identifier: Apache-2.0
#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/text.h"
#include "report/html.h"
#include "report/summary.h"

namespace assay {
namespace {

// Maps a range of values to a range of pixels; a range without width is widened so that nothing divides by zero.
struct Scale {
  double low, high, from, to;
  double operator()(double value) const {
    const double width = high > low ? high - low : 1;
    return from + (value - low) / width * (to - from);
  }
};

std::string Line(double x1, double y1, double x2, double y2, const char* colour, const char* dash) {
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='var(--{})' stroke-dasharray='{}'/>",
                     x1, y1, x2, y2, colour, dash);
}

std::string Label(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>", x, y, anchor, EscapeHtml(text));
}

}  // namespace

std::string DecisionSvg(const Decision& d) {
  if (d.group_log_ratios.empty()) return "";
  double low = std::min(0.0, *std::min_element(d.group_log_ratios.begin(), d.group_log_ratios.end()));
  double high = std::max(d.margin, *std::max_element(d.group_log_ratios.begin(), d.group_log_ratios.end()));
  const double room = 0.06 * std::max(high - low, 1e-3);
  low -= room;
  high += room;
  constexpr double kWidth = 1000, kLeft = 150, kRight = 980, kTop = 14, kBottom = 52;
  const Scale x{low, high, kLeft, kRight};
  std::string out = fmt::format("<svg viewBox='0 0 {:.0f} 74' role=img aria-label='{}'>", kWidth,
                                EscapeHtml("group ratios against " + d.against));
  out += Label(0, 37, "against " + d.against);
  if (d.low > 0 && d.high > 0) {
    out +=
        fmt::format("<rect x='{:.1f}' y='{}' width='{:.1f}' height='{}' fill='var(--mark)' opacity='.16'/>",
                    x(std::log(d.low)), kTop, std::max(1.0, x(std::log(d.high)) - x(std::log(d.low))), kBottom - kTop);
  }
  out += Line(x(0), kTop - 6, x(0), kBottom + 4, "soft", "none") + Label(x(0), 70, "1x", "middle");
  out += Line(x(d.margin), kTop - 6, x(d.margin), kBottom + 4, "mid", "3 3");
  const size_t count = d.group_log_ratios.size();
  for (size_t i = 0; i < count; ++i) {
    const double y =
        kTop + 4 + (kBottom - kTop - 8) * (count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5);
    out +=
        fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3.4' fill='var(--mark)'><title>group {}: {}</title></circle>",
                    x(d.group_log_ratios[i]), y, i + 1, Times(std::exp(d.group_log_ratios[i])));
  }
  if (d.value && *d.value > 0) out += Label(x(std::log(*d.value)), 70, Times(*d.value), "middle");
  return out + "</svg>";
}

std::string UnitsSvg(const DecisionReport& report, const std::string& workload) {
  const auto strongest =
      std::find_if(report.decisions.begin(), report.decisions.end(), [&](const Decision& d) { return d.groups > 0; });
  const std::string beside = strongest == report.decisions.end() ? "" : strongest->against;
  struct Dot {
    int group;
    double seconds;
    bool winner, gated;
  };
  std::vector<Dot> dots;
  std::map<int, int> column;  // of the groups that count, in order
  bool any = false;
  for (const RawUnit& unit : report.units) {
    const bool winner = unit.arm == report.winner;
    if (unit.redrawn || unit.census || unit.workload != workload || !(winner || unit.arm == beside)) continue;
    any = any || winner;
    column.emplace(unit.group, 0);
    dots.push_back({unit.group, 1e-9 * unit.NanosecondsACall(), winner, unit.gated});
  }
  if (!any) return "";
  int columns = 0;
  for (auto& [group, at] : column) at = columns++;
  double floor = 0;
  for (const Floor& f : report.floors) floor = f.workload == workload ? f.seconds : floor;
  const auto [least, most] =
      std::minmax_element(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.seconds < b.seconds; });
  const double low = floor > 0 ? std::min(floor, least->seconds) : least->seconds;
  const Scale y{std::log(low * 0.95), std::log(most->seconds * 1.05), 208, 12};
  const Scale x{-0.5, columns - 0.5, 120, 985};
  std::string out = fmt::format("<svg viewBox='0 0 1000 246' role=img aria-label='{}'>",
                                EscapeHtml("seconds a call of every unit on " + workload));
  if (report.winner_low > 0 && report.winner_high > 0) {
    const double top = y(std::log(report.winner_high)), bottom = y(std::log(report.winner_low));
    out += fmt::format("<rect x='120' y='{:.1f}' width='865' height='{:.1f}' fill='var(--mark)' opacity='.16'/>", top,
                       std::max(1.0, bottom - top));
  }
  if (floor > 0) {
    out += Line(120, y(std::log(floor)), 985, y(std::log(floor)), "good", "4 4") +
           Label(114, y(std::log(floor)) + 4, "floor " + Seconds(floor), "end");
  }
  for (const Dot& dot : dots) {
    // The winner on the left of its column, the other on the right.
    const double at = x(column.at(dot.group) + (dot.winner ? -0.14 : 0.14));
    const char* colour = dot.winner ? "mark" : "mid";
    out += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.6' fill='{}' stroke='var(--{})' opacity='.6'/>", at,
                       y(std::log(dot.seconds)), dot.gated ? "none" : fmt::format("var(--{})", colour), colour);
  }
  if (y(std::log(low)) - y(std::log(most->seconds)) > 16)
    out += Label(114, y(std::log(most->seconds)) + 4, Seconds(most->seconds), "end");
  out += Label(552, 238,
               fmt::format("{} groups in order; left {}, right {}; rings are single gated calls", columns,
                           report.winner, beside.empty() ? "nobody" : beside),
               "middle");
  return out + "</svg>";
}

std::string AttemptsSvg(const Campaign& c) {
  double fastest = INFINITY, slowest = 0;
  for (const Attempt& a : c.attempts) {
    if (a.estimates.empty() || !(a.estimates[0].seconds > 0)) continue;
    fastest = std::min(fastest, a.estimates[0].seconds);
    slowest = std::max(slowest, a.estimates[0].seconds);
  }
  if (!std::isfinite(fastest)) return "";
  const double floor = c.incumbent && c.incumbent->floor.seconds > 0 ? c.incumbent->floor.seconds : fastest;
  const Scale y{std::log(std::min(floor, fastest) * 0.93), std::log(slowest * 1.08), 222, 14};
  const Scale x{0, static_cast<double>(c.attempts.size()) + 1, 96, 985};
  std::string out = "<svg viewBox='0 0 1000 262' role=img aria-label='estimated time of each attempt'>";
  out += Line(96, y(std::log(floor)), 985, y(std::log(floor)), "good", "4 4") +
         Label(90, y(std::log(floor)) + 4, "floor " + Seconds(floor), "end");
  // The label of the slowest is left out where it would cover the floor's.
  if (y(std::log(floor)) - y(std::log(slowest)) > 16)
    out += Label(90, y(std::log(slowest)) + 4, Seconds(slowest), "end");
  for (const Attempt& a : c.attempts) {
    const double at = x(static_cast<double>(a.ordinal));
    if (a.estimates.empty()) {
      if (a.rejected)
        out += fmt::format(
            "<text x='{:.1f}' y='238' text-anchor=middle style='fill:var(--bad)'>&#215;<title>{}: {}</title></text>",
            at, a.ordinal, Name(a.rejected->reason));
      continue;
    }
    const bool winner = c.incumbent && c.incumbent->attempt == a.ordinal;
    out += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='{}' fill='var(--{})' opacity='{}'><title>{}: {}</title></circle>", at,
        y(std::log(a.estimates[0].seconds)), winner ? 6.5 : 4,
        winner                                ? "good"
        : a.outcome == OutcomeKind::kRejected ? "bad"
                                              : "mark",
        a.trust == Trust::kScreened ? ".45" : "1", a.ordinal,
        EscapeHtml(Seconds(a.estimates[0].seconds) + ", " + CandidateLabel(a.proposal.candidate)));
  }
  out +=
      Label(540, 256,
            "attempt, in order of proposal; full: verified, pale: screened only, large: the winner, crosses: rejected",
            "middle");
  return out + "</svg>";
}

}  // namespace assay
