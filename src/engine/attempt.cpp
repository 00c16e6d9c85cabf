// SPDX-License-Identifier: Apache-2.0
//
// The table of contents.  Read this file first: every other room is a word in one of its lines.
// Three recipes: RunAttempt (may it be timed?), Promote (may it be believed?), Crown (may it be told?).
#include "engine/attempt.h"

#include "engine/stage.h"
#include "record/advance.h"

namespace assay {
namespace {

void Refuse(Trial& trial, const Rejected& why) {
  Refuse(trial.attempt, why);
  trial.screened.reset();
  trial.verified.reset();
  trial.units.clear();  // a timing of something refused must not outlive it
}

}  // namespace

Result<Trial> RunAttempt(const Contract& contract, const Campaign& campaign, int64_t ordinal, const Proposal& proposal,
                         const Verified* incumbent, const Tools& tools) {
  Trial trial;
  trial.attempt.ordinal = ordinal;
  trial.attempt.proposal = proposal;
  StageSeconds& seconds = trial.attempt.seconds;
  const std::string what = "attempt " + std::to_string(ordinal);

  ASSAY_TRY(const BuildOutcome built, RunStage(tools, campaign, "build", what, seconds.build, [&] {
              return tools.builder.Build(contract, proposal.candidate, BuildVariant::kPrimary);
            }));
  if (const auto* refused = std::get_if<Rejected>(&built)) return Refuse(trial, *refused), trial;
  const Artifact& artifact = trial.attempt.artifact.emplace(std::get<Artifact>(built));
  seconds.build = std::max(seconds.build, artifact.build_seconds);  // it may have been built ahead
  // From here on there is a binary, and it is hostile until proven otherwise.

  if (const auto twin = tools.history.SameBinary(artifact)) {
    trial.attempt.duplicate_of = twin;
    trial.attempt.notes.push_back(Note::kDuplicate);
    return trial;
  }
  trial.attempt.inspection = tools.inspector.Inspect(artifact).facts;

  ASSAY_TRY(const ScreenOutcome screened, RunStage(tools, campaign, "screen", what, seconds.screen,
                                                   [&] { return tools.gate.Screen(contract, artifact); }));
  if (const auto* refused = std::get_if<Rejected>(&screened)) return Refuse(trial, *refused), trial;
  trial.screened = std::get<Screened>(screened);
  Advance(trial.attempt, Stage::kScreen, Trust::kScreened, trial.screened->checks());
  // Right as far as a glance can tell: it may be timed, not believed.

  ASSAY_TRY(const EstimateOutcome timed, RunStage(tools, campaign, "estimate", what, seconds.measure, [&] {
              return tools.timer.Estimate(contract, *trial.screened, incumbent);
            }));
  if (const auto* refused = std::get_if<Rejected>(&timed)) return Refuse(trial, *refused), trial;
  const Estimates& estimates = std::get<Estimates>(timed);
  trial.attempt.stage = Stage::kMeasure;
  trial.attempt.estimates = estimates.workloads;
  trial.units = estimates.units;
  for (const Estimate& estimate : estimates.workloads) {
    if (estimate.dropped && trial.attempt.notes.empty()) trial.attempt.notes.push_back(Note::kDropped);
  }
  return trial;
}

Result<Ranking> Promote(const Contract& contract, const Campaign& campaign, std::span<Trial* const> trials, int most,
                        const Verified* incumbent, const Tools& tools) {
  std::vector<Verified> standing;
  if (incumbent != nullptr) standing.push_back(*incumbent);
  const size_t full = standing.size() + static_cast<size_t>(most);
  for (Trial* trial : trials) {
    if (standing.size() == full) break;
    const std::string what = "attempt " + std::to_string(trial->attempt.ordinal);
    ASSAY_CHECK(trial->screened.has_value());
    ASSAY_TRY(const VerifyOutcome verified, RunStage(tools, campaign, "verify", what, trial->attempt.seconds.verify,
                                                     [&] { return tools.gate.Verify(contract, *trial->screened); }));
    if (const auto* refused = std::get_if<Rejected>(&verified)) {
      Refuse(*trial, *refused);
      continue;
    }
    trial->verified = std::get<Verified>(verified);
    Advance(trial->attempt, Stage::kVerify, Trust::kVerified, trial->verified->checks());
    trial->attempt.outcome = OutcomeKind::kVerified;
    standing.push_back(*trial->verified);
  }
  // The answer is right under every check that runs before the crown; it may become a parent.

  Ranking ranking;
  if (standing.size() < 2) {
    for (const Verified& one : standing) ranking.order.push_back({one.artifact().id, 0, 0, false});
    return ranking;
  }
  double seconds = 0;
  ASSAY_TRY(ranking, RunStage(tools, campaign, "rank", std::to_string(standing.size()) + " verified candidates",
                              seconds, [&] { return tools.timer.Rank(contract, standing); }));
  for (Trial* trial : trials) {
    if (!trial->verified) continue;
    trial->attempt.seconds.measure += seconds / static_cast<double>(standing.size());
    for (const auto& [artifact, why] : ranking.rejected) {
      if (trial->verified && artifact == trial->verified->artifact().id) Refuse(*trial, why);
    }
  }
  return ranking;
}

Result<std::optional<DecisionReport>> Crown(const Contract& contract, const Campaign& campaign, Trial& trial,
                                            std::span<const Verified> references, const TimeLeft& left,
                                            const Tools& tools) {
  ASSAY_CHECK(trial.verified.has_value());
  const std::string what = "attempt " + std::to_string(trial.attempt.ordinal);
  ASSAY_TRY(const ExamOutcome examined, RunStage(tools, campaign, "exam", what, trial.attempt.seconds.exam, [&] {
              return tools.gate.Examine(contract, trial.attempt.proposal.candidate, *trial.verified);
            }));
  if (const auto* refused = std::get_if<Rejected>(&examined))
    return Refuse(trial, *refused), std::optional<DecisionReport>();
  const Examined& winner = std::get<Examined>(examined);
  Advance(trial.attempt, Stage::kExam, Trust::kExamined, winner.checks());

  ASSAY_TRY(DecideOutcome decided, RunStage(tools, campaign, "decide", what, trial.attempt.seconds.measure,
                                            [&] { return tools.timer.Decide(contract, winner, references, left()); }));
  if (const auto* refused = std::get_if<Rejected>(&decided))
    return Refuse(trial, *refused), std::optional<DecisionReport>();
  // Now, and only now, a number may leave the house.
  return std::optional<DecisionReport>(std::move(std::get<DecisionReport>(decided)));
}

}  // namespace assay
