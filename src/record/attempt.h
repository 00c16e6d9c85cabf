// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "record/timing.h"
#include "record/verdict.h"

namespace assay {

// What a proposer asks to try.
struct Proposal {
  Candidate candidate;
  std::vector<int64_t> parents;  // attempt ordinals
  std::string proposer;          // "explorer", "refiner", "file", a person's name
  std::string hypothesis;
};

// Seconds that an attempt cost, by stage.
struct StageSeconds {
  double build = 0, screen = 0, verify = 0, measure = 0, exam = 0;
};

// Why an attempt was not followed further though nothing was wrong with it.
enum class Note { kDropped, kDuplicate, kBudget };
std::string_view Name(Note note);
std::optional<Note> ParseNote(std::string_view name);

// One candidate on its way, whatever its end: one row in the ledger.
struct Attempt {
  int64_t ordinal = 0;  // within the campaign, from 1
  Proposal proposal;
  OutcomeKind outcome = OutcomeKind::kUndecided;
  Stage stage = Stage::kBuild;  // the last stage entered
  Trust trust = Trust::kNone;
  std::optional<Rejected> rejected;
  std::optional<Artifact> artifact;
  std::optional<int64_t> duplicate_of;  // ordinal
  std::vector<Note> notes;
  std::string failure;  // kFailed: what the harness could not do
  std::vector<CheckRecord> checks;
  std::vector<Estimate> estimates;
  std::map<std::string, std::string> inspection;
  StageSeconds seconds;
};

// A baseline or peer after it went through the gate.
struct ReferenceRecord {
  std::string name;
  std::string kind;  // "baseline", "peer" or "sequence"
  std::vector<std::string> flags;
  std::string kernel_family;  // what the peer says of itself, e.g. an OpenBLAS core name; of a sequence its steps
  std::optional<Rejected> rejected;
  std::vector<Estimate> workloads;
};

struct Machine {
  std::string id;  // digest of what makes timings comparable: processor, cores, kernel, memory
  std::string processor, kernel, distribution;
  int cores = 0;
  double memory_gib = 0;
  std::vector<std::string> features;  // "avx512f", ...
  std::vector<std::string> walls;     // sandbox walls that stand
  std::vector<std::string> gaps;      // and those that do not, each with its reason
};

// Versions under which a claim holds.
using Versions = std::map<std::string, std::string>;  // "assay", "g++", "clang++", "openblas", "gate", ...

struct Budget {
  int attempts = 0;  // proposals that may reach the builder
  int spent = 0;
  double seconds = 0;  // wall time limit, 0 = none
};

// The best candidate of a campaign, and how far it was proved.
struct Incumbent {
  int64_t attempt = 0;
  bool examined = false;
  std::optional<double> floor_fraction;         // none: no decision timed it, or nothing bounds it
  std::optional<double> floor_low, floor_high;  // its interval over the decision's groups
  Floor floor;
  std::vector<Decision> decisions;  // the strongest reference first
};

struct Stopped {
  std::string why;                   // "budget", "interrupted", "time", "exhausted", "control", "failed"
  std::vector<std::string> untried;  // strategies that were not used
};

// A kernel that a campaign puts through its own gate without telling it which it is.
struct ControlRecord {
  std::string name;        // of the author's file
  bool must_pass = false;  // honest; else a planted fault
  std::optional<Rejected> rejected;
  double seconds = 0;
  bool AsExpected() const { return must_pass == !rejected.has_value(); }
};

// The proof of a campaign's winner made again, under another gate, compiler or machine.
struct Recheck {
  std::string campaign;
  int64_t attempt = 0;
  Versions versions;                 // under which it was made again
  std::optional<Rejected> rejected;  // what was found: the claim is retracted
  std::vector<CheckRecord> checks;
  double seconds = 0;
  std::string when;  // UTC; the ledger's, empty before it is written
};

// A whole campaign as a value: what `assay run --json` prints and the report draws.
struct Campaign {
  std::string id;
  std::string contract;
  Digest contract_hash;
  Machine machine;
  Versions versions;
  std::string strategy;
  uint64_t seed = 0;
  Digest seed_hash;  // committed at the start
  int threads = 0;
  Budget budget;
  std::vector<ReferenceRecord> references;
  std::vector<Attempt> attempts;
  std::optional<Incumbent> incumbent;
  MachineRates rates;
  std::optional<DecisionReport> decision;
  Stopped stopped;
  double wall_seconds = 0;
  std::map<std::string, double> seconds_by_stage;
  std::string command;  // replays it
  std::vector<ControlRecord> controls;
  std::vector<Recheck> rechecks;  // oldest first; the last one counts

  // Why the claim no longer stands, if so.
  const Recheck* Retraction() const {
    return !rechecks.empty() && rechecks.back().rejected ? &rechecks.back() : nullptr;
  }
};

}  // namespace assay
