// SPDX-License-Identifier: Apache-2.0
#include "app/cli/arguments.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/cli/help.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr const char* kVersion = "assay " ASSAY_VERSION "\n";

// KNOB=VALUE pairs become a map; a pair without '=' or given twice is a usage error.
std::map<std::string, std::string> Pairs(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw CLI::ValidationError("--set", "wants KNOB=VALUE, got " + Printable(text));
    if (!pairs.emplace(text.substr(0, at), text.substr(at + 1)).second) {
      throw CLI::ValidationError("--set", "gives " + Printable(text.substr(0, at)) + " twice");
    }
  }
  return pairs;
}

// CLI11's own Range lets NaN through.  `fits` is stated positively, so that NaN does not.
CLI::Validator Number(const char* wanted, bool (*fits)(double), const char* type) {
  return {[wanted, fits](std::string& text) {
            double value = std::nan("");
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool number = error == std::errc() && end == text.data() + text.size();
            return number && fits(value) ? std::string() : fmt::format("wants {}, got {}", wanted, Printable(text));
          },
          type};
}
const CLI::Validator kFraction = Number(
    "a number from 0 to 10", [](double value) { return value >= 0 && value <= 10; }, "FRACTION");
const CLI::Validator kPositive = Number(
    "a number of seconds above 0", [](double value) { return value > 0 && value < 1e9; }, "SECONDS");
const CLI::Validator kHours = Number(
    "a number of hours from 0 upward", [](double value) { return value >= 0 && value < 1e6; }, "HOURS");

// CLI11 wraps a minus sign around into a huge seed.
const CLI::Validator kWhole(
    [](std::string& text) {
      uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size()
                 ? std::string()
                 : "wants a whole number from 0 upward, got " + Printable(text);
    },
    "WHOLE");

// One command line in the making: the option objects that CLI11 fills.
struct Line {
  CLI::App app{"assay"};
  RunArguments run;
  VerifyArguments verify;
  BenchArguments bench;
  CheckArguments check;
  InitArguments init;
  ExplainArguments explain;
  LedgerArguments ledger;
  RecheckArguments recheck;
  ReportArguments report;
  DoctorArguments doctor;
  CalibrateArguments calibrate;
  RedteamArguments redteam;
  int threads = 0;
  std::string resume;
  std::vector<std::string> verify_knobs, bench_knobs;
  CLI::App *run_app, *verify_app, *bench_app, *contract_app, *check_app, *init_app, *explain_app, *ledger_app,
      *recheck_app, *report_app, *doctor_app, *calibrate_app, *redteam_app;
  CLI::Option* resume_option = nullptr;
  std::vector<CLI::Option*> threads_options;

  CLI::App* Command(CLI::App& parent, const char* name) {
    CLI::App* command = parent.add_subcommand(name);
    command->set_help_flag("-h,--help");
    return command;
  }

  Line() {
    app.set_help_flag("-h,--help");
    app.require_subcommand(1);
    AddRun();
    AddVerify();
    AddBench();
    AddRest();
    AddRedteam();
  }

  void AddThreads(CLI::App* command) {
    threads_options.push_back(command->add_option("--threads", threads)->check(CLI::Range(1, 1024)));
  }

  void AddRun() {
    run_app = Command(app, "run");
    run_app->add_option("CONTRACT", run.contract)->required();
    run_app->add_option("--budget", run.budget)->check(CLI::Range(1, 1000000));
    run_app->add_option("--seconds", run.seconds)->check(kPositive);
    run_app->add_option("--seed", run.seed)->check(kWhole);
    run_app->add_option("--strategy", run.strategy);
    AddThreads(run_app);
    run_app->add_option("--workload", run.workloads)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    run_app->add_option("--margin", run.margin)->check(kFraction);
    resume_option = run_app->add_option("--resume", resume)->expected(0, 1);
    run_app->add_option("--json", run.json);
    run_app->add_option("--report", run.report);
  }

  void AddVerify() {
    verify_app = Command(app, "verify");
    verify_app->add_option("CONTRACT", verify.contract)->required();
    verify_app->add_option("FILE", verify.file)->required();
    verify_app->add_option("--set", verify_knobs)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    verify_app->add_option("--flag", verify.flags)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    verify_app->add_option("--stop-after", verify.stop_after)
        ->check(CLI::IsMember(std::vector<std::string>{"build", "load", "screen", "verify", "measure", "exam"}));
    AddThreads(verify_app);
    verify_app->add_option("--json", verify.json);
  }

  void AddBench() {
    bench_app = Command(app, "bench");
    bench_app->add_option("CONTRACT", bench.contract)->required();
    bench_app->add_option("A", bench.file);
    bench_app->add_option("--against", bench.against);
    bench_app->add_flag("--aa", bench.aa);
    bench_app->add_option("--repeat", bench.repeat)->check(CLI::Range(1, 10000));
    bench_app->add_option("--set", bench_knobs)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    bench_app->add_option("--flag", bench.flags)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    bench_app->add_option("--workload", bench.workloads)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    AddThreads(bench_app);
    bench_app->add_option("--margin", bench.margin)->check(kFraction);
    bench_app->add_option("--json", bench.json);
    bench_app->add_option("--csv", bench.csv);
    bench_app->add_option("--google-benchmark", bench.google_benchmark);
    bench_app->add_option("--hyperfine", bench.hyperfine);
  }

  void AddRest() {
    contract_app = Command(app, "contract");
    contract_app->require_subcommand(1);
    check_app = Command(*contract_app, "check");
    check_app->add_option("CONTRACT", check.contract)->required();
    check_app->add_flag("--no-run", check.no_run);
    check_app->add_option("--json", check.json);
    init_app = Command(app, "init");
    init_app->add_option("NAME", init.name)->required();
    init_app->add_option("--from", init.from)->required();
    init_app->add_option("--entry", init.entry)->required();
    init_app->add_option("--out", init.out);
    explain_app = Command(app, "explain");
    explain_app->add_option("TOPIC", explain.topic)
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>{"tolerance", "timing", "reason"}));
    explain_app->add_option("SUBJECT", explain.subject);
    explain_app->add_option("--workload", explain.workload);
    explain_app->add_option("--element", explain.element)->check(CLI::NonNegativeNumber);
    ledger_app = Command(app, "ledger");
    ledger_app->add_option("ACTION", ledger.action)
        ->check(CLI::IsMember(std::vector<std::string>{"list", "show", "check"}));
    ledger_app->add_option("CAMPAIGN", ledger.campaign);
    recheck_app = Command(app, "recheck");
    recheck_app->add_option("CAMPAIGN", recheck.campaign);
    recheck_app->add_flag("--all", recheck.all);
    recheck_app->add_option("--contract", recheck.contract);
    recheck_app->add_option("--json", recheck.json);
    report_app = Command(app, "report");
    report_app->add_option("CAMPAIGN", report.campaign);
    report_app->add_option("--out", report.out);
    doctor_app = Command(app, "doctor");
    doctor_app->add_option("--json", doctor.json);
    calibrate_app = Command(app, "calibrate");
    calibrate_app->add_flag("--force", calibrate.force);
    calibrate_app->add_option("--max-age", calibrate.most_age_hours)->check(kHours);
    // A count beyond the processors is answered with how many there are.
    threads_options.push_back(calibrate_app->add_option("--threads", threads)->check(CLI::Range(1, 1000000)));
    calibrate_app->add_option("--json", calibrate.json);
  }

  void AddRedteam() {
    redteam_app = Command(app, "redteam");
    redteam_app->add_option("FOLDER", redteam.folder);
    redteam_app->add_option("--contract", redteam.contract);
    redteam_app->add_option("--only", redteam.only)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    redteam_app->add_option("--seeds", redteam.seeds)->check(CLI::Range(1, 1000));
    redteam_app->add_option("--without", redteam.without)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    redteam_app->add_option("--json", redteam.json);
    redteam_app->add_option("--junit", redteam.junit);
  }

  std::vector<std::string> Commands() const {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(command->get_name());
    return names;
  }

  std::string Asked() const {
    for (const auto& [command, name] : {std::pair{run_app, "run"},
                                        {verify_app, "verify"},
                                        {bench_app, "bench"},
                                        {check_app, "contract check"},
                                        {contract_app, "contract check"},
                                        {init_app, "init"},
                                        {explain_app, "explain"},
                                        {ledger_app, "ledger"},
                                        {recheck_app, "recheck"},
                                        {report_app, "report"},
                                        {doctor_app, "doctor"},
                                        {calibrate_app, "calibrate"},
                                        {redteam_app, "redteam"}}) {
      if (command->parsed()) return name;
    }
    return "";
  }

  Arguments Chosen() {
    std::optional<int> asked_threads;
    for (const CLI::Option* option : threads_options) {
      if (option->count() > 0) asked_threads = threads;
    }
    run.threads = verify.threads = bench.threads = calibrate.threads = asked_threads;
    if (resume_option->count() > 0) run.resume = resume;
    verify.knobs = Pairs(verify_knobs);
    bench.knobs = Pairs(bench_knobs);
    if (run_app->parsed()) return run;
    if (verify_app->parsed()) return verify;
    if (bench_app->parsed()) return bench;
    if (check_app->parsed()) return check;
    if (init_app->parsed()) return init;
    if (explain_app->parsed()) return explain;
    if (ledger_app->parsed()) return ledger;
    if (recheck_app->parsed()) return recheck;
    if (report_app->parsed()) return report;
    if (redteam_app->parsed()) return redteam;
    if (calibrate_app->parsed()) return calibrate;
    return doctor;
  }
};

}  // namespace

Arguments ParseArguments(int argc, const char* const* argv) {
  Line line;
  if (argc < 2) return ShowText{HelpFor(""), 4};
  const std::string first = argv[1];
  if (first == "--version") return ShowText{kVersion, 0};
  if (const std::vector<std::string> commands = line.Commands();
      first[0] != '-' && std::find(commands.begin(), commands.end(), first) == commands.end()) {
    const std::string near = Nearest(first, commands);
    return ShowText{"assay: there is no command " + Printable(first) +
                        (near.empty() ? "" : "; did you mean " + near + "?") + "\nTry: assay --help\n",
                    4};
  }
  try {
    line.app.parse(argc, argv);
    return line.Chosen();
  } catch (const CLI::CallForHelp&) {
    return ShowText{HelpFor(line.Asked()), 0};
  } catch (const CLI::Error& problem) {
    const std::string command = line.Asked();
    return ShowText{"assay" + (command.empty() ? "" : " " + command) + ": " + Printable(problem.what()) +
                        "\nTry: assay " + (command.empty() ? "" : command + " ") + "--help\n",
                    4};
  }
}

}  // namespace assay
