// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/passage.h"
#include "app/cli/progress.h"
#include "record/advance.h"
#include "record/exports.h"
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

// On standard error when standard output belongs to a file that was asked for.
int ShowRefusal(const Workshop& shop, const std::string& label, const Rejected& why, bool to_stdout) {
  Attempt attempt;
  attempt.proposal.candidate.template_name = label;
  Refuse(attempt, why);
  (to_stdout ? Say : Print)(VerdictText(attempt, shop.contract.name, OutputWidth()));
  return kRefused;
}

bool AllDecided(std::span<const Comparison> comparisons) {
  return !comparisons.empty() && std::all_of(comparisons.begin(), comparisons.end(),
                                             [](const Comparison& one) { return IsClaim(one.Telling().kind); });
}

struct Pair {
  NamedKernel a, b;
};

Result<Pair> KernelsOf(Workshop& shop, const BenchArguments& arguments) {
  ASSAY_TRY(NamedKernel a, arguments.file.empty()
                               ? DefaultKernel(shop, arguments)
                               : FindKernel(shop.contract, arguments.file, arguments.knobs, arguments.flags));
  if (arguments.aa) {
    NamedKernel copy = a;
    copy.label = "byte copy of " + a.label;
    return Pair{std::move(a), std::move(copy)};
  }
  ASSAY_TRY(NamedKernel b, FindKernel(shop.contract, arguments.against, {}, {}));
  if (a.label == b.label) {
    a.label += " (A)";
    b.label += " (B)";
  }
  return Pair{std::move(a), std::move(b)};
}

// Everything that was asked for as a file; of repeated comparisons the raw units of the last.
Status WriteFiles(const BenchArguments& arguments, const Workshop& shop, const DecisionReport& last,
                  std::span<const Comparison> comparisons, std::span<const Artifact> arms) {
  const std::string& contract = shop.contract.name;
  if (!arguments.csv.empty()) ASSAY_TRY_STATUS(WriteJson(arguments.csv, UnitsCsv(last)));
  if (!arguments.hyperfine.empty()) ASSAY_TRY_STATUS(WriteJson(arguments.hyperfine, HyperfineJson(last)));
  // To say what the machine is takes a process that tries the walls.
  if (arguments.json.empty() && arguments.google_benchmark.empty()) return Ok();
  ASSAY_TRY(const Machine machine, MachineHere());
  if (!arguments.google_benchmark.empty())
    ASSAY_TRY_STATUS(WriteJson(arguments.google_benchmark, GoogleBenchmarkJson(last, contract, machine)));
  if (arguments.json.empty()) return Ok();
  return WriteJson(arguments.json, BenchJson(last, comparisons, arms, contract, machine, VersionsHere(shop.contract)));
}

// At most one of the files may be standard output, and then nothing else is.
Result<bool> TakesStandardOutput(const BenchArguments& arguments) {
  int many = 0;
  for (const std::string* file : {&arguments.json, &arguments.csv, &arguments.google_benchmark, &arguments.hyperfine})
    many += *file == "-" ? 1 : 0;
  if (many > 1) return Error{ErrorCode::kInvalidInput, "only one of the files can be - (standard output)"};
  return many == 1;
}

}  // namespace

Result<int> Command(const BenchArguments& arguments) {
  if (arguments.aa == !arguments.against.empty())
    return Error{ErrorCode::kInvalidInput,
                 "bench wants either --against B or --aa, which compares A with its own copy"};
  ASSAY_TRY(const bool to_stdout, TakesStandardOutput(arguments));
  ASSAY_TRY_STATUS(CheckTargets({arguments.json, arguments.csv, arguments.google_benchmark, arguments.hyperfine}));
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  TerminalProgress progress(terminal, OutputWidth(), false);
  ASSAY_TRY(Workshop shop,
            Workshop::Open(arguments.contract, {arguments.threads, arguments.workloads, arguments.margin,
                                                [&progress](const std::string& text) { progress.Remark(text); }}));
  ASSAY_TRY(const Pair pair, KernelsOf(shop, arguments));
  ASSAY_TRY(const Passage passed_a, PassTo(Stage::kVerify, shop, pair.a));
  if (passed_a.attempt.rejected) return ShowRefusal(shop, pair.a.label, *passed_a.attempt.rejected, to_stdout);
  // The same bytes need no second passage.
  ASSAY_TRY(const Passage passed_b, arguments.aa ? Result<Passage>(passed_a) : PassTo(Stage::kVerify, shop, pair.b));
  if (passed_b.attempt.rejected) return ShowRefusal(shop, pair.b.label, *passed_b.attempt.rejected, to_stdout);

  const Artifact arms[] = {passed_a.verified->artifact(), passed_b.verified->artifact()};
  std::vector<Comparison> comparisons;
  DecisionReport report;
  for (int number = 0; number < arguments.repeat; ++number) {
    ASSAY_TRY(KernelTimer::BenchOutcome bench,
              shop.timer->Bench(shop.contract, *passed_a.verified, *passed_b.verified));
    if (const auto* refused = std::get_if<Rejected>(&bench.outcome)) {
      progress.Close();
      // What was compared before the refusal is not lost.
      if (!comparisons.empty()) ASSAY_TRY_STATUS(WriteFiles(arguments, shop, report, comparisons, arms));
      return ShowRefusal(shop, bench.rejected_arm, *refused, to_stdout);
    }
    report = std::move(std::get<DecisionReport>(bench.outcome));
    if (report.decisions.empty()) return Error{ErrorCode::kUnavailable, "a decision ended without a comparison"};
    comparisons.push_back({report.decisions, report.seconds_spent});
    if (arguments.repeat > 1) progress.Remark(ComparisonLine(number + 1, comparisons.back()));
  }
  progress.Close();
  ASSAY_TRY_STATUS(WriteFiles(arguments, shop, report, comparisons, arms));
  if (!to_stdout) {
    Print(arguments.repeat > 1 ? ComparisonsText(comparisons, pair.a.label, pair.b.label, OutputWidth())
                               : BenchText(report, pair.a.label, pair.b.label, OutputWidth()));
    for (const NamedKernel* kernel : {&pair.a, &pair.b}) {
      const bool twice = arguments.aa && kernel == &pair.b;
      if (!kernel->object.empty() && !twice)
        Print("  not asked of " + kernel->label + ": what only a source can be asked\n");
    }
  }
  return AllDecided(comparisons) ? kDone : kNoVerdict;
}

}  // namespace assay
