// SPDX-License-Identifier: Apache-2.0
#include "report/redteam.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/html.h"
#include "report/table.h"

namespace assay {
namespace {

// A row that is cut hides what went astray; a terminal that is narrower wraps it.
constexpr size_t kTableWidth = 150;

// Ends of one file at one point of its knobs that a reader cannot tell apart.
struct Row {
  const RedteamCase* first = nullptr;
  int seeds = 0;
  double seconds = 0;
};

std::vector<Row> Rows(const RedteamRun& run) {
  std::vector<Row> rows;
  for (const RedteamCase& one : run.cases) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      const RedteamCase& other = *row.first;
      return other.file == one.file && other.knobs == one.knobs && other.outcome == one.outcome &&
             other.reason == one.reason && other.check == one.check;
    });
    Row& row = same == rows.end() ? rows.emplace_back(Row{&one, 0, 0}) : *same;
    ++row.seeds;
    row.seconds += one.seconds;
  }
  return rows;
}

std::string Expected(const RedteamCase& one) {
  return one.expected.verdict + (one.expected.reason ? " " + std::string(Name(*one.expected.reason)) : "");
}

struct Counts {
  int hostile = 0, refused = 0, for_the_reason = 0, honest = 0, passed = 0, failed = 0;
};

Counts CountCases(const RedteamRun& run) {
  Counts counts;
  for (const RedteamCase& one : run.cases) {
    const bool failed = one.outcome == RedteamOutcome::kFailed;
    counts.failed += failed ? 1 : 0;
    if (one.expected.verdict == "verified") {
      ++counts.honest;
      counts.passed += !failed && !Astray(one) ? 1 : 0;
      continue;
    }
    ++counts.hostile;
    counts.refused += !failed && !Astray(one) ? 1 : 0;
    counts.for_the_reason += AsStated(one) ? 1 : 0;
  }
  return counts;
}

// HTML's escapes are XML's too; in an attribute a line's end stays one only as a reference.
std::string Xml(std::string_view text) {
  std::string out;
  for (const char c : EscapeHtml(Printable(text))) out += c == '\n' ? std::string("&#10;") : std::string(1, c);
  return out;
}

std::string TestCase(const RedteamCase& one) {
  std::string out = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">", Xml(one.class_name),
                                Xml(CaseLabel(one, true)), one.seconds);
  const std::string text = Xml(one.failure.empty() ? one.evidence : one.failure);
  if (one.outcome == RedteamOutcome::kFailed) out += fmt::format("<error message=\"{}\"/>", text);
  if (Astray(one)) {
    out += fmt::format("<failure message=\"expected {}, got {}\">{}</failure>", Xml(Expected(one)),
                       Xml(CaseOutcome(one)), text);
  }
  out += fmt::format("<system-out>{} by {}: {}</system-out>", Xml(CaseOutcome(one)), Xml(one.check), text);
  return out + "</testcase>\n";
}

}  // namespace

std::string CaseLabel(const RedteamCase& one, bool with_seed) {
  std::string label = one.file;
  for (const auto& [knob, value] : one.knobs) label += " " + knob + "=" + value;
  if (with_seed) label += " seed " + std::to_string(one.seed);
  return Printable(label);
}

std::string CaseOutcome(const RedteamCase& one) {
  std::string text(Name(one.outcome));
  if (one.reason) text += " " + std::string(Name(*one.reason));
  if (Astray(one)) return text + (one.expected.verdict == "verified" ? ", TURNED AWAY" : ", GOT THROUGH");
  if (one.outcome != RedteamOutcome::kFailed && !AsStated(one)) text += ", stated " + Expected(one);
  return text;
}

std::string RedteamText(const RedteamRun& run, size_t width) {
  TextTable table({"class", "file", "seeds", "s", "outcome", "check"});
  for (const Row& row : Rows(run)) {
    const RedteamCase& one = *row.first;
    table.Add({Printable(one.class_name), CaseLabel(one, false), fmt::format("{}/{}", row.seeds, run.seeds),
               fmt::format("{:.2f}", row.seconds / row.seeds), CaseOutcome(one), one.check});
  }
  std::string out = table.Render(std::max(width, kTableWidth)) + "\n";
  for (const RedteamCase& one : run.cases) {
    if (one.outcome == RedteamOutcome::kFailed)
      out += Wrap(CaseLabel(one, true) + " could not run: " + Printable(one.failure), width, "  ", "    ");
    else if (Astray(one))
      out += Wrap(CaseLabel(one, true) + ": " + CaseOutcome(one) + ". " + Printable(one.evidence), width, "  ", "    ");
  }
  const Counts counts = CountCases(run);
  out += fmt::format("{} of {} hostile cases refused, {} for the stated reason; {} of {} honest cases passed",
                     counts.refused, counts.hostile, counts.for_the_reason, counts.passed, counts.honest);
  if (counts.failed > 0) out += fmt::format("; {} could not run", counts.failed);
  out += fmt::format("; {}\n", Seconds(run.seconds));
  if (!run.without.empty()) out += Wrap("without the checks: " + Join(run.without, "; "), width, "", "  ");
  if (!run.gaps.empty()) out += Wrap("walls that do not stand here: " + Join(run.gaps, "; "), width, "", "  ");
  return out;
}

std::string RedteamJUnit(const RedteamRun& run) {
  std::map<std::string, std::vector<const RedteamCase*>> classes;
  for (const RedteamCase& one : run.cases) classes[one.class_name].push_back(&one);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"redteam\">\n";
  for (const auto& [name, cases] : classes) {
    const auto count = [&](auto&& holds) { return std::count_if(cases.begin(), cases.end(), holds); };
    out += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n", Xml(name),
                       cases.size(), count([](const RedteamCase* one) { return Astray(*one); }),
                       count([](const RedteamCase* one) { return one->outcome == RedteamOutcome::kFailed; }));
    for (const RedteamCase* one : cases) out += TestCase(*one);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace assay
