// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "language/cpp/builder.h"
#include "record/seams.h"

namespace assay {

// Changes whenever an old verdict might come out differently: part of the key under which
// admissions and verdicts are kept.
inline constexpr std::string_view kGateVersion = "9";

struct GateOptions {
  Seed seed;                                           // never enters a candidate's process
  std::filesystem::path cache = DefaultCacheFolder();  // of built references, as the builder's
  int threads = 0;                                     // 0: what the contract's policy says, there 0: all processors
  // Check 1, asked in the exam: builds once more elsewhere and compares.  None: not asked.
  std::function<Result<std::optional<Rejected>>(const Contract&, const Candidate&)> rebuild;
  // Names of checks that are not asked: what would get through if they were not there?  An experiment;
  // a gate with a gap must never put anything into a ledger.
  std::vector<std::string> without;
};

// The gate: ordered checks, cheapest first, in processes of their own.  Nothing that decides shares
// memory with a candidate.  One gate serves one campaign; not to be used by two threads at once.
class KernelGate : public Gate {
 public:
  KernelGate(Builder& builder, GateOptions options);
  ~KernelGate() override;

  Result<ScreenOutcome> Screen(const Contract& contract, const Artifact& artifact) override;
  Result<VerifyOutcome> Verify(const Contract& contract, const Screened& screened) override;
  Result<ExamOutcome> Examine(const Contract& contract, const Candidate& candidate, const Verified& verified) override;
  Result<VerifyOutcome> Control(const Contract& contract, const Artifact& artifact) override;
  Result<Admission> Admit(const Contract& contract) override;

  // Of all that a candidate is asked, in that order.
  std::vector<std::string> CheckNames() const;

 private:
  struct State;
  // What `work` returns, with as many threads as the contract says.
  template <typename Work>
  auto WithItsOwnThreads(Work&& work) -> decltype(work());

  std::unique_ptr<State> state_;
};

// Threads that a contract's kernels get: asked (if not 0), else the policy's, else all processors of
// this process.
int ThreadsFor(const Contract& contract, int asked);

}  // namespace assay
