// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "record/candidate.h"
#include "record/reason.h"

namespace assay {

// One check as it ran: how many cases it saw, what it cost, and what it could not ask here.
struct CheckRecord {
  std::string name;
  int64_t cases = 0;
  double seconds = 0;
  std::vector<std::string> not_checked;  // "x87 stack: ...": what and why
};

// The candidate's own failure, with evidence.  A value, never an Error.
struct Rejected {
  Stage stage = Stage::kBuild;
  Reason reason = Reason::kBuildFailed;
  std::string check;                // which check caught it
  std::string evidence;             // the smallest failing input, element, bound and error; a system call; a signal
  std::vector<CheckRecord> checks;  // those that had run, the failing one last
};

using BuildOutcome = std::variant<Artifact, Rejected>;

// The three levels of trust.  Only the gate can make one (src/verify/trust.h defines TrustFromGate;
// tests define TrustForTest), so no other code can time, rank or crown what was not checked.
class Screened {
 public:
  const Artifact& artifact() const { return artifact_; }
  const std::vector<CheckRecord>& checks() const { return checks_; }

 private:
  friend struct TrustFromGate;
  friend struct TrustForTest;
  Screened(Artifact artifact, std::vector<CheckRecord> checks)
      : artifact_(std::move(artifact)), checks_(std::move(checks)) {}
  Artifact artifact_;
  std::vector<CheckRecord> checks_;
};

class Verified {
 public:
  const Artifact& artifact() const { return artifact_; }
  const std::vector<CheckRecord>& checks() const { return checks_; }

 private:
  friend struct TrustFromGate;
  friend struct TrustForTest;
  Verified(Artifact artifact, std::vector<CheckRecord> checks)
      : artifact_(std::move(artifact)), checks_(std::move(checks)) {}
  Artifact artifact_;
  std::vector<CheckRecord> checks_;
};

class Examined {
 public:
  const Artifact& artifact() const { return artifact_; }
  const std::vector<CheckRecord>& checks() const { return checks_; }

 private:
  friend struct TrustFromGate;
  friend struct TrustForTest;
  Examined(Artifact artifact, std::vector<CheckRecord> checks)
      : artifact_(std::move(artifact)), checks_(std::move(checks)) {}
  Artifact artifact_;
  std::vector<CheckRecord> checks_;
};

using ScreenOutcome = std::variant<Screened, Rejected>;
using VerifyOutcome = std::variant<Verified, Rejected>;
using ExamOutcome = std::variant<Examined, Rejected>;

// What code says before it runs; never a verdict.
struct Inspection {
  std::map<std::string, std::string> facts;  // "vector_width": "512", "fma": "yes", ...
};

// Whether a contract can be trusted to tell right from wrong: the separation between what must
// be refused and what must pass, in units of the limit.
struct AdmissionCase {
  std::string name;             // "null zeros", "narrow bf16 q", "mutant skip_tail", "honest pairwise fma"
  bool must_pass = false;       // honest kernels
  double worst_over_limit = 0;  // largest error / limit over the regimes (infinity for NaN)
  std::string worst_regime;
  bool as_expected = false;  // honest: below 1/2; null or mutant: at least 2
};

struct Admission {
  bool admitted = false;
  std::vector<AdmissionCase> cases;
  std::vector<std::string> complaints;  // why not, each with a remedy
  double smallest_mutant = 0;           // of worst_over_limit among what must be refused
  double largest_honest = 0;
  double seconds = 0;
  std::string gate_version;
};

}  // namespace assay
