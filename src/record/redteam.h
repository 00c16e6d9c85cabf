// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/candidate.h"
#include "record/reason.h"

namespace assay {

// How one file of a corpus fared at one point of its knobs under one seed of the gate.
enum class RedteamOutcome {
  kRejected,
  kVerified,  // nothing was found; for a hostile file that is what must not be
  kNoGain,    // right, and the clock did not call it faster than its honest twin
  kFaster,    // right, and called faster than its twin: the cheat paid
  kFailed,    // ours: the case could not run
};
std::string_view Name(RedteamOutcome outcome);

struct RedteamCase {
  std::string class_name, file, contract;
  KnobValues knobs;
  int seed = 1;          // ordinal, from 1
  Expectation expected;  // without a reason where the file names none: any refusal will do
  RedteamOutcome outcome = RedteamOutcome::kFailed;
  Stage stage = Stage::kBuild;  // the last one entered
  std::optional<Reason> reason;
  std::string check, evidence;  // of the refusal
  std::string failure;          // kFailed: what the harness could not do
  double seconds = 0;
};

// A hostile file that nothing stopped, or an honest one that was turned away.
bool Astray(const RedteamCase& one);
// Ended as the file says, for the reason that it says.
bool AsStated(const RedteamCase& one);

struct RedteamRun {
  std::vector<RedteamCase> cases;
  int seeds = 1;
  std::vector<std::string> without;  // checks that were left out to see what they are for
  double seconds = 0;
  std::vector<std::string> walls, gaps;  // of this machine, as in every verdict
};

}  // namespace assay
