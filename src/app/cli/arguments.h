// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace assay {

// The command line as values.  Unset numbers are empty, so that a command knows its own defaults.

struct RunArguments {
  std::string contract;
  int budget = 22;
  double seconds = 0;
  uint64_t seed = 1;
  std::string strategy = "three-explorers-seven-refiners";
  std::optional<int> threads;
  std::vector<std::string> workloads;
  double margin = 0;
  std::optional<std::string> resume;  // "" = the newest unfinished one
  std::string json, report;
};

struct VerifyArguments {
  std::string contract, file;
  std::map<std::string, std::string> knobs;
  std::vector<std::string> flags;
  std::string stop_after = "verify";
  std::optional<int> threads;
  std::string json;
};

struct BenchArguments {
  std::string contract, file, against;
  std::map<std::string, std::string> knobs;
  std::vector<std::string> flags;
  std::vector<std::string> workloads;
  std::optional<int> threads;
  double margin = 0;
  bool aa = false;
  int repeat = 1;
  std::string json, csv, google_benchmark, hyperfine;
};

struct CheckArguments {
  std::string contract, json;
  bool no_run = false;
};

struct InitArguments {
  std::string name, from, entry, out;
};

struct ExplainArguments {
  std::string topic, subject, workload;
  int64_t element = 0;
};

struct LedgerArguments {
  std::string action = "list", campaign;
};

struct RecheckArguments {
  std::string campaign, contract, json;
  bool all = false;
};

struct ReportArguments {
  std::string campaign, out;
};

struct DoctorArguments {
  std::string json;
};

struct CalibrateArguments {
  bool force = false;
  double most_age_hours = 24;
  std::optional<int> threads;  // empty: as many as there are processors
  std::string json;
};

struct RedteamArguments {
  std::string folder;  // "": the shipped corpus
  std::string contract;
  std::vector<std::string> only;  // classes; none: all
  int seeds = 1;
  std::vector<std::string> without;  // checks
  std::string json, junit;
};

// Text to print and an exit code: help, version, or what was wrong with the line.
struct ShowText {
  std::string text;
  int exit_code = 0;
};

using Arguments = std::variant<ShowText, RunArguments, VerifyArguments, BenchArguments, CheckArguments, InitArguments,
                               ExplainArguments, LedgerArguments, RecheckArguments, ReportArguments, DoctorArguments,
                               CalibrateArguments, RedteamArguments>;

// Usage errors are ShowText with exit code 4.
Arguments ParseArguments(int argc, const char* const* argv);

}  // namespace assay
