// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "record/attempt.h"

namespace assay {

// The seams: the engine sees these and nothing else.  Tests hand it fakes, replay another set.
// Everywhere: Error = the harness could not do its work; Rejected = the candidate's own failure.

// Which compiler makes an artifact.
enum class BuildVariant {
  kPrimary,
  kSecondCompiler,  // another compiler: may only reject
  kSanitized,       // address and undefined-behaviour checks compiled in: may only reject
};

class Builder {
 public:
  virtual ~Builder() = default;
  virtual Result<BuildOutcome> Build(const Contract& contract, const Candidate& candidate, BuildVariant variant) = 0;
  // Builds several side by side into the content cache, so that each Build after it is a look-up.
  // Returns when nothing compiles any more: the clock must not meet our own compilers.
  virtual Status Prepare(const Contract& contract, std::span<const Candidate> candidates) = 0;
  virtual Result<BuildOutcome> BuildReference(const Contract& contract, const ReferenceKernel& reference) = 0;
};

class Inspector {
 public:
  virtual ~Inspector() = default;
  virtual Inspection Inspect(const Artifact& artifact) = 0;
};

class Gate {
 public:
  virtual ~Gate() = default;
  virtual Result<ScreenOutcome> Screen(const Contract& contract, const Artifact& artifact) = 0;
  virtual Result<VerifyOutcome> Verify(const Contract& contract, const Screened& screened) = 0;
  virtual Result<ExamOutcome> Examine(const Contract& contract, const Candidate& candidate,
                                      const Verified& verified) = 0;
  // Both ask the gate itself, with as many threads as the contract says, whatever a campaign gives its candidates: a
  // row that is lost between two threads is not lost on one.
  virtual Result<VerifyOutcome> Control(const Contract& contract, const Artifact& artifact) = 0;
  virtual Result<Admission> Admit(const Contract& contract) = 0;
};

// One timed call as it stood when its process was stopped: whatever the audit wants to see.
struct TimedCall {
  const Contract* contract = nullptr;
  const Shape* shape = nullptr;
  std::vector<double> scalars;  // in the order of contract.scalars
  std::vector<std::span<const std::byte>>
      tensors;  // in the order of contract.tensors; outputs as the candidate left them; empty = absent
  // By tensor as well: what a tensor that is changed in place, or an input whose memory an output shares,
  // held before the call; empty for others.
  // Nothing at all as long as no candidate has run: then `tensors` still holds it.
  std::vector<std::span<const std::byte>> before = {};
  bool structured = false;  // some regime of the inputs has no random mantissas
  bool found = false;       // another kernel wrote some of the inputs: values that no check before has seen

  // What the call reads.
  std::span<const std::byte> Read(size_t tensor) const {
    return tensor < before.size() && !before[tensor].empty() ? before[tensor] : tensors[tensor];
  }
};

// Called after the end stamp: which calls, slices and elements are compared is drawn then.
class Auditor {
 public:
  virtual ~Auditor() = default;
  virtual Result<std::optional<Rejected>> Audit(std::span<const TimedCall> calls) = 0;
};

class Timer {
 public:
  virtual ~Timer() = default;
  // The trusted arm of every estimate, and the source of the margin: a reference that the gate has passed.
  virtual void SetWitness(Verified witness) = 0;
  // `against`: the incumbent if there is one; the trusted witness is always there too.
  virtual Result<EstimateOutcome> Estimate(const Contract& contract, const Screened& screened,
                                           const Verified* against) = 0;
  virtual Result<Ranking> Rank(const Contract& contract, std::span<const Verified> verified) = 0;
  // Ends as UNDECIDED after `most_seconds`; 0 = no limit.
  virtual Result<DecideOutcome> Decide(const Contract& contract, const Examined& winner,
                                       std::span<const Verified> references, double most_seconds) = 0;
};

class History {
 public:
  virtual ~History() = default;
  // The attempt of this campaign whose artifact runs the same code, if any.
  virtual std::optional<int64_t> SameBinary(const Artifact& artifact) = 0;
  virtual void Remember(const Attempt& attempt) = 0;
};

class Ledger {
 public:
  virtual ~Ledger() = default;
  // Opens the campaign's first row: conditions, seed's hash, budget.
  virtual Status Begin(const Campaign& campaign) = 0;
  // One revision of an attempt's row with the raw units that led to it, in one transaction.  An
  // attempt gains a revision each time it advances; the last one counts, none is ever changed.
  // Units of an attempt that no gate has passed are refused by the schema.
  virtual Status Append(const std::string& campaign, const Attempt& attempt, std::span<const RawUnit> units) = 0;
  virtual Status AppendReference(const std::string& campaign, const ReferenceRecord& reference) = 0;
  // The end of a round: the ranking together with the new revisions of the attempts it judged.
  virtual Status AppendRanking(const std::string& campaign, int round, const Ranking& ranking,
                               std::span<const Attempt* const> revised) = 0;
  // The end of a campaign: the decision together with the winner's last revision.
  virtual Status AppendDecision(const std::string& campaign, const Attempt& winner, const DecisionReport& report) = 0;
  // Closes it: incumbent, why it stopped, the revealed seed.
  virtual Status End(const Campaign& campaign) = 0;
  virtual Result<std::optional<Admission>> FindAdmission(const Digest& contract, std::string_view gate_version) = 0;
  virtual Status AppendAdmission(const Digest& contract, const Admission& admission) = 0;
  virtual Result<Digest> StoreObject(std::string_view bytes) = 0;
};

// What a proposer may know: outcomes in order of proposal, never of arrival.
struct Standing {
  const std::vector<Attempt>* attempts = nullptr;
  std::optional<int64_t> incumbent;  // ordinal
  int remaining = 0;                 // attempts left in the budget
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  // At most `count` new candidates, legal by construction; fewer (or none) when the space is exhausted.
  virtual Result<std::vector<Proposal>> Propose(const Standing& standing, int count) = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::nanoseconds Now() = 0;
  // What has so far been spent on waiting until other programs leave this machine to us: time that passes, but no work.
  virtual std::chrono::nanoseconds Waited() { return std::chrono::nanoseconds(0); }
};

// What a campaign tells a watcher while it runs.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void Entered(const Campaign& campaign, const std::string& stage, const std::string& what) = 0;
  virtual void Finished(const Campaign& campaign, const Attempt& attempt) = 0;
};

}  // namespace assay
