// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/decide.h"
#include "measure/environment.h"
#include "measure/group.h"
#include "measure/peak.h"
#include "record/seams.h"

namespace assay {

struct TimerOptions {
  int threads = 0;                     // 0: what the workload, else the policy says (0 there: all)
  Seed seed;                           // never enters a candidate's process
  double alpha = 0.01;                 // of a claim, per side
  double asked_margin = 0;             // 0.05: claim only what is more than 5 % faster
  int most_groups = 30;                // of a decision
  std::vector<std::string> workloads;  // empty: all of the contract
  Builder* builder = nullptr;          // of the kernels beside those of an in-situ workload
  std::chrono::milliseconds lease_patience{600000};
  std::optional<std::filesystem::path> lease_file;  // tests
  bool calibrate = true;                            // false in tests: no rates, no floors
  std::filesystem::path calibrations;               // folder of what `assay calibrate` keeps; empty: it is not asked
  bool redraw = true;                               // false in tests: a group counts however busy the machine was
  // "decide: 10 groups, strict FASTER x18.1 (17.9 .. 18.4)", told while nothing is timed.
  std::function<void(const std::string&)> progress;
};

// The clock: estimates drop, rankings order, decisions claim.  All three run restart groups of the
// same protocol; only their number and what is concluded differ.
class KernelTimer : public Timer {
 public:
  KernelTimer(Auditor& auditor, TimerOptions options);
  ~KernelTimer() override;

  void SetWitness(Verified witness) override;
  Result<EstimateOutcome> Estimate(const Contract& contract, const Screened& screened,
                                   const Verified* against) override;
  Result<Ranking> Rank(const Contract& contract, std::span<const Verified> verified) override;
  Result<DecideOutcome> Decide(const Contract& contract, const Examined& winner, std::span<const Verified> references,
                               double most_seconds) override;

  // `assay bench A --against B`: A frozen by the caller, B the reference, a byte copy of A beside
  // them.  `rejected_arm` names the arm when the outcome is Rejected.
  struct BenchOutcome {
    DecideOutcome outcome;
    std::string rejected_arm;
  };
  Result<BenchOutcome> Bench(const Contract& contract, const Verified& a, const Verified& b);

  // Measured on first use and probed again in every decision.
  Result<MachineRates> Rates(const Contract& contract);

  struct State;  // what estimates, rankings and decisions share

 private:
  std::unique_ptr<State> state_;
};

}  // namespace assay
