// SPDX-License-Identifier: Apache-2.0
//
// The loop around attempts: references first, then rounds (propose, build, screen, estimate, promote),
// then one coronation.  State lives in `Loop`; each step writes its rows before the next begins, so a
// kill at any instant loses at most the step that was under way.
#include "engine/campaign.h"

#include <algorithm>

#include "base/text.h"
#include "engine/proof.h"
#include "engine/stage.h"

namespace assay {
namespace {

// The witness is timed beside every candidate. A library is rarely far from what is timed, the relaxed baseline may be
// ten times slower and the strict one thirty.
int Dearness(const Contract& contract, const std::string& reference) {
  const ReferenceKernel* const kernel = contract.FindReference(reference);
  if (kernel != nullptr && kernel->kind == ReferenceKind::kPeer) return 0;
  return reference == "relaxed" ? 1 : 2;
}

constexpr double kWorthTelling = 0.1;  // seconds
constexpr double kReserved = 0.3;
constexpr double kLeastForDecision = 0.1;  // of a time budget, even beyond its end

double SecondsOf(const Recorded& recorded) {
  double sum = 0;
  for (const auto& [ordinal, revisions] : recorded.revisions) {
    if (revisions.empty()) continue;
    const StageSeconds& spent = revisions.back().seconds;
    sum += spent.build + spent.screen + spent.verify + spent.measure + spent.exam;
  }
  return sum;
}

class Loop {
 public:
  Loop(const Contract& contract, Campaign& campaign, const Recorded& recorded, const CampaignOptions& options,
       const Tools& tools)
      : contract_(contract),
        campaign_(campaign),
        recorded_(recorded),
        options_(options),
        tools_(tools),
        start_(tools.clock.Now()),
        earlier_(SecondsOf(recorded)) {}

  Status Run();

 private:
  Status ProveReferences();
  Status Keep(ReferenceRecord record);
  Status ProveControls();
  bool ControlFailed() const;
  Result<bool> Round(int round);
  Result<Trial> Try(const Proposal& proposal, int64_t ordinal);
  std::vector<Trial*> Hopeful(size_t first);
  Status PromoteRound(int round, size_t first);
  Status TakeOverRanking(const Ranking& ranking);
  Status Reprove(Trial& trial);
  Status CrownTheBest();
  void Decided(const Trial& trial, const DecisionReport& report);
  Status Write(const Trial& trial) { return tools_.ledger.Append(campaign_.id, trial.attempt, trial.units); }
  // 30 % of a time budget belongs to the exam and the decision; an attempt budget is spent in full.
  bool SearchTimeIsOver() const {
    return campaign_.budget.seconds > 0 && Elapsed() > (1 - kReserved) * campaign_.budget.seconds;
  }
  // What an exam has left of it, and never so little that nothing could be decided.
  double DecisionSeconds() const {
    const double all = campaign_.budget.seconds;
    return all > 0 ? std::max(all - Elapsed(), kLeastForDecision * all) : 0;
  }
  double Elapsed() const { return earlier_ + std::chrono::duration<double>(tools_.clock.Now() - start_).count(); }
  bool IsRecorded(size_t ordinal) const { return recorded_.revisions.contains(static_cast<int64_t>(ordinal)); }
  Trial* IncumbentTrial();
  // The next revision that an earlier process wrote of this attempt, if there is one.
  const Attempt* NextRecorded(int64_t ordinal);
  void Replace(Trial& trial, const Attempt& revision);

  const Contract& contract_;
  Campaign& campaign_;
  const Recorded& recorded_;
  const CampaignOptions& options_;
  const Tools& tools_;
  std::chrono::nanoseconds start_;
  double earlier_;             // seconds that a campaign which is continued had spent on its attempts
  std::vector<Trial> trials_;  // by ordinal - 1
  std::vector<Verified> references_;
  std::vector<int64_t> verified_;    // ordinals, fastest first as far as rankings told; the first is the incumbent
  std::map<int64_t, size_t> taken_;  // revisions taken over so far, by ordinal
};

// Revisions are taken over one by one, at the moment the campaign would have made them: a strategy
// must see what it saw then, not what the attempt became later.
const Attempt* Loop::NextRecorded(int64_t ordinal) {
  const auto known = recorded_.revisions.find(ordinal);
  if (known == recorded_.revisions.end() || taken_[ordinal] >= known->second.size()) return nullptr;
  return &known->second[taken_[ordinal]++];
}

void Loop::Replace(Trial& trial, const Attempt& revision) {
  trial.attempt = revision;
  campaign_.attempts[static_cast<size_t>(revision.ordinal - 1)] = revision;
}

Trial* Loop::IncumbentTrial() {
  return verified_.empty() ? nullptr : &trials_[static_cast<size_t>(verified_.front() - 1)];
}

Status Loop::Run() {
  ASSAY_TRY_STATUS(ProveReferences());
  ASSAY_TRY_STATUS(ProveControls());
  if (ControlFailed()) {
    campaign_.stopped.why = "control";
    return Ok();
  }
  for (int round = 0;; ++round) {
    ASSAY_TRY(const bool more, Round(round));
    // What was done before a kill counts, whatever the time it took.
    if (more && (!SearchTimeIsOver() || IsRecorded(trials_.size() + 1))) continue;
    if (more) campaign_.stopped.why = "time";
    break;
  }
  return CrownTheBest();
}

Status Loop::Keep(ReferenceRecord record) {
  const bool known = std::any_of(recorded_.references.begin(), recorded_.references.end(),
                                 [&](const ReferenceRecord& earlier) { return earlier.name == record.name; });
  if (!known) ASSAY_TRY_STATUS(tools_.ledger.AppendReference(campaign_.id, record));
  campaign_.references.push_back(std::move(record));
  return Ok();
}

// Baselines and peers are trusted in their code, not in their answers.
Status Loop::ProveReferences() {
  campaign_.references.clear();
  for (const ReferenceKernel& reference : contract_.references) {
    ReferenceRecord record{
        reference.name, reference.kind == ReferenceKind::kPeer ? "peer" : "baseline", reference.flags, "", {}, {}};
    double seconds = 0;
    ASSAY_TRY(const BuildOutcome built, RunStage(tools_, campaign_, "reference", reference.name, seconds,
                                                 [&] { return tools_.builder.BuildReference(contract_, reference); }));
    record.rejected =
        std::get_if<Rejected>(&built) != nullptr ? std::optional(std::get<Rejected>(built)) : std::nullopt;
    if (!record.rejected) {
      Artifact artifact = std::get<Artifact>(built);
      artifact.name = reference.name;  // under this name it is an arm of every decision
      ASSAY_TRY(const ScreenOutcome screened, RunStage(tools_, campaign_, "reference", reference.name, seconds,
                                                       [&] { return tools_.gate.Screen(contract_, artifact); }));
      if (const auto* refused = std::get_if<Rejected>(&screened)) record.rejected = *refused;
      if (!record.rejected) {
        ASSAY_TRY(const VerifyOutcome verified, RunStage(tools_, campaign_, "reference", reference.name, seconds, [&] {
                    return tools_.gate.Verify(contract_, std::get<Screened>(screened));
                  }));
        if (const auto* refused = std::get_if<Rejected>(&verified)) record.rejected = *refused;
        if (!record.rejected) references_.push_back(std::get<Verified>(verified));
      }
    }
    campaign_.seconds_by_stage["references"] += seconds;
    ASSAY_TRY_STATUS(Keep(std::move(record)));
  }
  // The clock plays them with kernels of other contracts and has each of their answers audited.
  for (const KernelSequence& sequence : contract_.sequences) {
    std::vector<std::string> steps;
    for (const SequenceStep& step : sequence.steps) steps.push_back(step.text);
    ASSAY_TRY_STATUS(Keep({sequence.name, "sequence", {}, Join(steps, ", "), {}, {}}));
  }
  if (!references_.empty()) {
    tools_.timer.SetWitness(*std::ranges::min_element(
        references_, {}, [&](const Verified& v) { return Dearness(contract_, v.artifact().name); }));
  } else {
    return Error{ErrorCode::kInvalidInput,
                 contract_.name + ": no baseline stands under the contract's own checks; run `assay contract check " +
                     contract_.name + "`"};
  }
  return Ok();
}

// Made anew by a resumed campaign too: it is this process's gate that is asked.
Status Loop::ProveControls() {
  campaign_.controls.clear();
  for (const Control& control : options_.controls) {
    ControlRecord record{control.name, control.must_pass, std::nullopt, 0};
    ASSAY_TRY(const VerifyOutcome outcome, RunStage(tools_, campaign_, "control", control.name, record.seconds, [&] {
                return ProveControl(contract_, control.candidate, tools_.builder, tools_.gate);
              }));
    if (const auto* refused = std::get_if<Rejected>(&outcome)) record.rejected = *refused;
    campaign_.seconds_by_stage["controls"] += record.seconds;
    campaign_.controls.push_back(std::move(record));
  }
  return Ok();
}

bool Loop::ControlFailed() const {
  return std::any_of(campaign_.controls.begin(), campaign_.controls.end(),
                     [](const ControlRecord& control) { return !control.AsExpected(); });
}

// False when there is nothing more to propose or to spend.
Result<bool> Loop::Round(int round) {
  const int left = campaign_.budget.attempts - campaign_.budget.spent;
  if (left <= 0) {
    campaign_.stopped.why = "budget";
    return false;
  }
  const Standing standing{&campaign_.attempts, verified_.empty() ? std::nullopt : std::optional(verified_.front()),
                          left};
  ASSAY_TRY(const std::vector<Proposal> proposals,
            tools_.proposer.Propose(standing, std::min(left, options_.round_size)));
  if (proposals.empty()) {
    campaign_.stopped.why = "exhausted";
    return false;
  }
  const size_t first = trials_.size();
  std::vector<Candidate> fresh;
  for (size_t i = 0; i < proposals.size(); ++i) {
    if (!IsRecorded(first + i + 1)) fresh.push_back(proposals[i].candidate);
  }
  if (!fresh.empty()) {
    double seconds = 0;
    ASSAY_TRY_STATUS(RunStage(tools_, campaign_, "build", std::to_string(fresh.size()) + " candidates", seconds,
                              [&] { return tools_.builder.Prepare(contract_, fresh); }));
    campaign_.seconds_by_stage["build"] += seconds;
  }
  for (const Proposal& proposal : proposals) {
    // The rest of a round would eat what is reserved; a round that ended so and was ranked is over for who resumes.
    const bool over = SearchTimeIsOver() || recorded_.rankings.contains(round);
    if (trials_.size() > first && over && !IsRecorded(trials_.size() + 1)) break;
    ASSAY_TRY(Trial trial, Try(proposal, static_cast<int64_t>(trials_.size() + 1)));
    if (!trial.attempt.duplicate_of) ++campaign_.budget.spent;
    campaign_.attempts.push_back(trial.attempt);
    trials_.push_back(std::move(trial));
    tools_.progress.Finished(campaign_, campaign_.attempts.back());
  }
  ASSAY_TRY_STATUS(PromoteRound(round, first));
  return true;
}

// A recorded attempt is taken over as it stands; a new one runs and is written.
Result<Trial> Loop::Try(const Proposal& proposal, int64_t ordinal) {
  if (const Attempt* known = NextRecorded(ordinal)) {
    if (known->proposal.candidate.id != proposal.candidate.id) {
      return Error{ErrorCode::kCorrupt, "attempt " + std::to_string(ordinal) + " of campaign " + campaign_.id +
                                            " is not what this program would propose: it was recorded by another "
                                            "version, or a template changed since; start a new campaign"};
    }
    Trial trial;
    trial.attempt = *known;
    tools_.history.Remember(trial.attempt);
    return trial;
  }
  const Trial* best = IncumbentTrial();
  ASSAY_TRY(Trial trial,
            RunAttempt(contract_, campaign_, ordinal, proposal, best != nullptr ? &*best->verified : nullptr, tools_));
  tools_.history.Remember(trial.attempt);
  ASSAY_TRY_STATUS(Write(trial));
  campaign_.seconds_by_stage["screen"] += trial.attempt.seconds.screen;
  campaign_.seconds_by_stage["estimate"] += trial.attempt.seconds.measure;
  return trial;
}

// After a resume the row says what was proved, but the proof's value died with the process: it is
// made again from the same bytes.  No row is written; a different answer now is a fault of ours.
Status Loop::Reprove(Trial& trial) {
  const bool there = trial.attempt.trust == Trust::kScreened ? trial.screened.has_value() : trial.verified.has_value();
  if (there || !trial.attempt.artifact) return Ok();
  ASSAY_TRY(const BuildOutcome built,
            tools_.builder.Build(contract_, trial.attempt.proposal.candidate, BuildVariant::kPrimary));
  const auto* artifact = std::get_if<Artifact>(&built);
  if (artifact == nullptr)
    return Error{ErrorCode::kUnavailable, "attempt " + std::to_string(trial.attempt.ordinal) +
                                              " built before and does not now: " + std::get<Rejected>(built).evidence};
  ASSAY_TRY(const ScreenOutcome screened, tools_.gate.Screen(contract_, *artifact));
  if (const auto* standing = std::get_if<Screened>(&screened)) trial.screened = *standing;
  if (trial.screened && trial.attempt.trust != Trust::kScreened) {
    ASSAY_TRY(const VerifyOutcome verified, tools_.gate.Verify(contract_, *trial.screened));
    if (const auto* proved = std::get_if<Verified>(&verified)) trial.verified = *proved;
  }
  if (!trial.screened || (trial.attempt.trust != Trust::kScreened && !trial.verified)) {
    return Error{ErrorCode::kCorrupt, "attempt " + std::to_string(trial.attempt.ordinal) + " was recorded as " +
                                          std::string(Name(trial.attempt.trust)) +
                                          " and is refused now; start a new campaign"};
  }
  return Ok();
}

// The ranking's order goes before what was verified earlier: its first met the old incumbent.
Status Loop::TakeOverRanking(const Ranking& ranking) {
  std::vector<int64_t> order;
  for (const Ranked& ranked : ranking.order) {
    for (const Trial& trial : trials_) {
      const bool it =
          trial.attempt.artifact && trial.attempt.artifact->id == ranked.artifact && !trial.attempt.duplicate_of;
      if (it && trial.attempt.outcome == OutcomeKind::kVerified) order.push_back(trial.attempt.ordinal);
    }
  }
  for (const int64_t earlier : verified_) {
    const bool refused = trials_[static_cast<size_t>(earlier - 1)].attempt.outcome == OutcomeKind::kRejected;
    if (!refused && std::find(order.begin(), order.end(), earlier) == order.end()) order.push_back(earlier);
  }
  verified_ = std::move(order);
  return verified_.empty() ? Ok() : Reprove(*IncumbentTrial());
}

// Who of a round may meet the gate's full checks: what could still win, fastest by estimate first.
std::vector<Trial*> Loop::Hopeful(size_t first) {
  std::vector<Trial*> hopeful;
  for (size_t i = first; i < trials_.size(); ++i) {
    const Attempt& attempt = trials_[i].attempt;
    const bool stands =
        attempt.outcome == OutcomeKind::kUndecided && attempt.trust == Trust::kScreened && !attempt.estimates.empty();
    if (!stands || !attempt.notes.empty()) continue;
    // Without an incumbent there is nothing to be behind.
    const bool behind = !verified_.empty() && attempt.estimates[0].ratio.value_or(0) < options_.promote_above;
    if (!behind) hopeful.push_back(&trials_[i]);
  }
  // With an incumbent all ratios share its denominator, without one the seconds decide.
  std::sort(hopeful.begin(), hopeful.end(), [&](const Trial* a, const Trial* b) {
    return verified_.empty() ? a->attempt.estimates[0].seconds < b->attempt.estimates[0].seconds
                             : a->attempt.estimates[0].ratio.value_or(0) > b->attempt.estimates[0].ratio.value_or(0);
  });
  return hopeful;
}

Status Loop::PromoteRound(int round, size_t first) {
  const auto known = recorded_.rankings.find(round);
  if (known != recorded_.rankings.end()) {
    for (size_t i = first; i < trials_.size(); ++i) {
      const Attempt* revision =
          trials_[i].attempt.trust == Trust::kScreened ? NextRecorded(trials_[i].attempt.ordinal) : nullptr;
      if (revision != nullptr) Replace(trials_[i], *revision);
    }
    return TakeOverRanking(known->second);
  }
  const std::vector<Trial*> hopeful = Hopeful(first);
  // Only a round that an earlier process left half done has anything to prove again.
  for (Trial* trial : hopeful) ASSAY_TRY_STATUS(Reprove(*trial));
  const Trial* best = IncumbentTrial();
  double seconds = 0;
  ASSAY_TRY(const Ranking ranking,
            RunStage(tools_, campaign_, "promote", std::to_string(hopeful.size()) + " candidates", seconds, [&] {
              return hopeful.empty() ? Result<Ranking>(Ranking{})
                                     : Promote(contract_, campaign_, hopeful, options_.promoted_per_round,
                                               best != nullptr ? &*best->verified : nullptr, tools_);
            }));
  campaign_.seconds_by_stage["promote"] += seconds;
  std::vector<const Attempt*> revised;
  for (size_t i = first; i < trials_.size(); ++i) {
    Attempt& attempt = trials_[i].attempt;
    const bool hoped = std::find(hopeful.begin(), hopeful.end(), &trials_[i]) != hopeful.end();
    const bool met_gate = hoped && (attempt.outcome == OutcomeKind::kRejected || attempt.trust == Trust::kVerified);
    const bool left_behind =
        attempt.outcome == OutcomeKind::kUndecided && attempt.trust == Trust::kScreened && attempt.notes.empty();
    if (left_behind) attempt.notes.push_back(Note::kDropped);
    if (met_gate || left_behind) revised.push_back(&attempt);
    campaign_.attempts[static_cast<size_t>(attempt.ordinal - 1)] = attempt;
  }
  ASSAY_TRY_STATUS(tools_.ledger.AppendRanking(campaign_.id, round, ranking, revised));
  ASSAY_TRY_STATUS(TakeOverRanking(ranking));
  for (const Trial* trial : hopeful) tools_.progress.Finished(campaign_, trial->attempt);
  return Ok();
}

// How far the winner is from its floor, by its own kernel's time.
void HoldToFloor(Incumbent& incumbent, const DecisionReport& report) {
  incumbent.floor = report.floors.front();
  const auto mine = report.seconds.find(report.winner), own = report.own_seconds.find(report.winner);
  if (mine == report.seconds.end() || !(mine->second > 0)) return;
  const double own_share = own == report.own_seconds.end() ? 1 : own->second / mine->second;
  const auto fraction = [&](double seconds) {
    const double floor = incumbent.floor.seconds, of_kernel = own_share * seconds;
    return floor > 0 && of_kernel > 0 ? std::optional<double>(floor / of_kernel) : std::nullopt;
  };
  incumbent.floor_fraction = fraction(mine->second);
  incumbent.floor_low = fraction(report.winner_high);
  incumbent.floor_high = fraction(report.winner_low);
}

void Loop::Decided(const Trial& trial, const DecisionReport& report) {
  Incumbent incumbent;
  incumbent.attempt = trial.attempt.ordinal;
  incumbent.examined = true;
  incumbent.decisions = report.decisions;
  if (!report.floors.empty()) HoldToFloor(incumbent, report);
  campaign_.incumbent = incumbent;
  campaign_.decision = report;
  campaign_.rates = report.rates;
  for (ReferenceRecord& reference : campaign_.references) {
    reference.workloads.clear();
    for (const auto& [workload, arms] : report.workload_seconds) {
      const auto arm = arms.find(reference.name);
      if (arm == arms.end()) continue;
      Estimate estimate;
      estimate.workload = workload;
      estimate.seconds = arm->second;
      for (const Floor& f : report.floors) {
        if (f.workload == workload && f.seconds > 0) estimate.floor_fraction = f.seconds / arm->second;
      }
      reference.workloads.push_back(estimate);
    }
  }
}

Status Loop::CrownTheBest() {
  for (int exams = 0; !verified_.empty() && exams < options_.most_exams; ++exams) {
    Trial& trial = *IncumbentTrial();
    std::optional<DecisionReport> report;
    const Attempt* known = NextRecorded(trial.attempt.ordinal);
    if (known != nullptr) {
      Replace(trial, *known);
      report = known->outcome == OutcomeKind::kRejected ? std::nullopt : recorded_.decision;
    } else {
      ASSAY_TRY_STATUS(Reprove(trial));
      double seconds = 0;
      ASSAY_TRY(report,
                RunStage(tools_, campaign_, "crown", "attempt " + std::to_string(trial.attempt.ordinal), seconds, [&] {
                  return Crown(
                      contract_, campaign_, trial, references_, [this] { return DecisionSeconds(); }, tools_);
                }));
      campaign_.seconds_by_stage["crown"] += seconds;
      Replace(trial, Attempt(trial.attempt));
      trial.units.clear();
      ASSAY_TRY_STATUS(report ? tools_.ledger.AppendDecision(campaign_.id, trial.attempt, *report) : Write(trial));
    }
    tools_.progress.Finished(campaign_, trial.attempt);
    if (report) return Decided(trial, *report), Ok();
    verified_.erase(verified_.begin());  // refused in the exam: the next of the ranking is next
  }
  return Ok();
}

}  // namespace

Status RunCampaign(const Contract& contract, Campaign& campaign, const Recorded& recorded,
                   const CampaignOptions& options, const Tools& tools) {
  const auto start = tools.clock.Now(), waited = tools.clock.Waited();
  Loop loop(contract, campaign, recorded, options, tools);
  const Status status = loop.Run();
  campaign.wall_seconds += std::chrono::duration<double>(tools.clock.Now() - start).count();
  const double others = std::chrono::duration<double>(tools.clock.Waited() - waited).count();
  if (others >= kWorthTelling) campaign.seconds_by_stage["waiting"] += others;
  if (!status.ok() && status.error().code == ErrorCode::kInterrupted) {
    // No end row: what is in the ledger is what `--resume` continues.
    campaign.stopped.why = "interrupted";
    return Ok();
  }
  ASSAY_TRY_STATUS(status);
  return tools.ledger.End(campaign);
}

std::optional<int64_t> CampaignHistory::SameBinary(const Artifact& artifact) {
  const auto at = by_twin_.find(artifact.twin);
  if (at == by_twin_.end()) return std::nullopt;
  return at->second;
}

void CampaignHistory::Remember(const Attempt& attempt) {
  if (attempt.artifact && !attempt.duplicate_of) by_twin_.emplace(attempt.artifact->twin, attempt.ordinal);
}

}  // namespace assay
