// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "record/candidate.h"
#include "record/verdict.h"
#include "verify/answers.h"
#include "verify/draw.h"
#include "verify/probe.h"
#include "verify/reference.h"

namespace assay {

// One hidden input: a shape, and the values of the calls that are made at it in one unit.
struct Case {
  Shape shape;
  std::vector<Values> calls;
  Seed seed;
  int threads = 0;  // 0: the subject's
  uint64_t placement = 0;
  int64_t most_slices = 0;  // compared of each call; 0: by the work they are
  bool honest = true;       // the honest ensemble is asked too
};

// The answers of the reference to cases that every candidate of a campaign meets.  Inputs are secret
// and each process sees them once, so they may be asked of one candidate after the other; a case that
// has become evidence is retired.
class AnswerBank {
 public:
  const Answers* Find(const Seed& of_case, size_t slot) const;
  const Answers& Keep(const Seed& of_case, size_t slot, Answers answers);
  // What a check has shown as evidence is known to proposers: the next candidate gets other cases.
  void Retire(std::string_view check) { ++generation_[std::string(check)]; }
  uint64_t Generation(std::string_view check) const;

 private:
  static constexpr size_t kMostElements = 1'000'000;
  std::map<std::string, Answers> answers_;
  std::map<std::string, uint64_t> generation_;
  size_t elements_ = 0;
};

// What all checks of one candidate share.  Not to be used by two threads at once.
struct Subject {
  const Contract* contract = nullptr;
  const Artifact* artifact = nullptr;
  Stage stage = Stage::kScreen;
  int threads = 1;
  Seed seed;  // of this moment of this campaign
  Reference* reference = nullptr;
  AnswerBank* bank = nullptr;  // none in the exam, whose inputs are nobody else's
  // Longest time of one unit of so many calls at this shape.
  std::function<std::chrono::nanoseconds(const Shape& shape, size_t calls)> limit;
  std::vector<Shape> timed;  // of the workloads, headline first
  // Class stochastic: what the checks of this moment have seen so far.
  std::shared_ptr<AllDraws> draws = std::make_shared<AllDraws>();
};

class Examination {
 public:
  explicit Examination(Subject subject);

  const Subject& subject() const { return subject_; }
  const Contract& contract() const { return *subject_.contract; }
  int64_t cases() const { return cases_; }
  int64_t excluded() const { return excluded_; }
  int64_t elements() const { return elements_; }
  // What a check draws its shapes and placements from.
  Stream Draws(std::string_view check) const;

  // Runs the case in a process of its own and compares.  A failure comes back with the smallest
  // failing input that was found in a moment.
  Result<std::optional<Rejected>> Run(const Case& c);

  // The pieces, for checks that need more than one unit.
  Result<ProbeOutcome> StartProbe(const Case& c);
  // Unwritten elements, comparison, late changes of one slot of a finished unit.
  Result<std::optional<Rejected>> CheckSlot(Probe& probe, const Case& c, size_t slot);
  // Of these, unwritten elements alone.
  Result<std::optional<Rejected>> CheckWritten(Probe& probe, const Case& c, size_t slot);
  // Check 8, of a process whose outputs have been looked at.
  Result<std::optional<Rejected>> CheckMachine(Probe& probe, const Case& c);
  // The comparison alone, of slices that the caller chose; for the exam.  Their answers are added to `prints`
  // (see PrintsOf) when the candidate's are right.
  Result<std::optional<Rejected>> CompareSlices(Probe& probe, const Case& c, size_t slot,
                                                std::span<const int64_t> slices, size_t honest_slices,
                                                std::vector<uint64_t>* prints = nullptr);
  // A wrong answer in a process with a past: when the same call is right in a fresh process, the past
  // is to blame and not the arithmetic.
  Result<std::optional<Rejected>> BlamedOnHistory(const Case& c, size_t slot, Rejected found);
  // Completes what a probe or a comparison found: contract, shape, values.
  Rejected Annotated(Rejected rejected, const Case& c, std::string_view regimes) const;
  Rejected Refuse(Reason reason, std::string evidence) const;

  // The seed of the values of one of a check's cases.
  Seed CaseSeed(std::string_view check, uint64_t ordinal) const;
  Seed SlotSeed(const Case& c, size_t slot) const { return c.seed.Derive("slot", slot); }
  void CountCase() { ++cases_; }
  // Where answers are kept for the next candidate: nowhere in the exam, nor where they follow what this one returned.
  AnswerBank* answer_bank() const { return own_answers_ ? nullptr : subject_.bank; }
  // What this check could not ask here, and why: kept beside its record, so that nobody reads it as passed.
  void NotChecked(const std::string& what) {
    if (std::find(not_checked_.begin(), not_checked_.end(), what) == not_checked_.end()) not_checked_.push_back(what);
  }
  const std::vector<std::string>& not_checked() const { return not_checked_; }

 private:
  Result<std::optional<Rejected>> RunOnce(const Case& c);
  Result<std::optional<Rejected>> RunAlone(const Case& c, size_t slot);
  Result<const Answers*> AnswersFor(const TimedCall& call, const Case& c, size_t slot);
  Result<std::optional<Rejected>> Compare(Probe& probe, const Case& c, size_t slot, const Answers& answers);
  Result<Rejected> Explain(Probe& probe, const Case& c, size_t slot, Reason reason, std::string evidence);
  Result<Rejected> Shrunk(const Case& c, Rejected rejected);

  // Draws of calls with other seeds have nothing in common with these.
  std::optional<Rejected> RepeatedDraws(const TimedCall& call, const Judgement& judgement);

  struct SeenDraws {
    size_t tensor;
    std::vector<double> seeds;  // the integer scalars: one of them chooses the stream
    std::vector<ChanceDraw> draws;
  };

  Subject subject_;
  bool own_answers_;
  std::vector<SeenDraws> seen_draws_;  // of the last calls
  Answers scratch_;                    // answers that the bank does not keep
  std::vector<std::string> not_checked_;
  int64_t cases_ = 0, excluded_ = 0, elements_ = 0;
};

// How many slices of a call are compared: all of small calls, of large ones as many as cost about so
// many operations of the reference and so many answered elements, and never fewer than a handful.
int64_t SlicesOf(const Contract& contract, const Shape& shape, double operations, double elements);

}  // namespace assay
