// SPDX-License-Identifier: Apache-2.0
//
// The decision: one frozen winner, fresh groups, every reference and two copies in each of them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "contract/values.h"
#include "measure/clock_state.h"
#include "measure/figures.h"
#include "measure/power.h"
#include "numerics/statistics.h"

namespace assay {
namespace {

constexpr double kPlant = 0.03;
// A witness this many times slower than the winner would cost more than everything else together.
constexpr double kDearWitness = 8;
// A redrawn group costs as much as a kept one; when every second one is lost the machine is too busy.
constexpr int kFreeRedraws = 6;
constexpr int kBandwidthEvery = 4;
constexpr double kSlowProbe = 0.85;  // of the run's usual peak: somebody has come to share the cores

using BenchOutcome = KernelTimer::BenchOutcome;

// One decision from its first group to its report.
class Crowning {
 public:
  // `sequences`: the contract's are among the references.
  Crowning(KernelTimer::State& state, const Artifact& winner, std::span<const Verified> references, bool sequences,
           double most_seconds);
  // Gives way to other programs between groups.
  Result<BenchOutcome> Run(MachineLease& lease);
  const std::optional<std::pair<std::string, Rejected>>& dropped_arm() const { return dropped_arm_; }

 private:
  Status ChooseWitness();
  Status StatePower();
  void SetWitness(const std::string& name);  // an arm of `artifacts_`, or "" for the winner itself
  bool Compared(const std::string& name) const;
  std::vector<Arm> ArmsOn(const Course& course) const;
  Arm ArmOf(const Course& course, const std::string& name) const;
  Status RunGroup();
  void DrawAgain(int group, const std::string& why);
  void Mark(int group, bool counts);
  Result<bool> ShortGroup(int regime, const Figures& figures);
  Status RunCensus(const Evidence& evidence);
  void Stop();
  Result<bool> RunCourse(Course& course, int group);
  void DropReference(const std::string& name, const Rejected& why);
  std::optional<BenchOutcome> JudgeTimes();
  std::optional<Rejected> JudgeTimesOf(const std::string& arm, const Figures& figures);
  DecisionReport Report(const Evidence& evidence);
  void TellProgress(const Evidence& evidence) const;
  bool OutOfTime() const { return most_seconds_ > 0 && spent_.Seconds() > most_seconds_; }
  const std::string& headline() const { return state_.courses.front().workload->name; }

  KernelTimer::State& state_;
  const Artifact& winner_;
  double most_seconds_;                               // 0 = no limit
  std::map<std::string, const Artifact*> artifacts_;  // of references and witness, by arm
  std::set<std::string> sequences_;                   // references of several kernels, by arm; no witnesses
  DecisionDesign design_;
  Power power_;
  std::vector<RawUnit> units_;
  std::vector<GroupProbe> probes_;
  std::vector<GroupRedraw> redraws_;
  std::optional<std::pair<std::string, Rejected>> dropped_arm_;  // the first of them
  std::vector<Decision> dropped_;                                // references that were refused while timed
  std::optional<RunRates> rates_;
  std::optional<Rejected> refused_;
  std::string stopped_;  // why no further group was run
  int kept_ = 0, redrawn_ = 0;
  int short_kept_ = 0, short_redrawn_ = 0;
  Stopwatch spent_;
};

Crowning::Crowning(KernelTimer::State& state, const Artifact& winner, std::span<const Verified> references,
                   bool sequences, double most_seconds)
    : state_(state), winner_(winner), most_seconds_(most_seconds) {
  std::vector<const Artifact*> all = {&winner};
  for (const Verified& reference : references) all.push_back(&reference.artifact());
  if (state.witness) {
    const Artifact* witness = &state.witness->artifact();
    const auto same = [&](const Artifact* other) { return other->id == witness->id; };
    if (std::none_of(all.begin() + 1, all.end(), same)) all.push_back(witness);
  }
  for (const KernelSequence& sequence : state.contract->sequences) {
    if (sequences) sequences_.insert(sequence.name);
  }
  const std::vector<std::string> names = ArmNames(all, sequences_);
  for (size_t i = 1; i < all.size(); ++i) artifacts_[names[i]] = all[i];

  design_.winner = names[0];
  design_.copy = "copy of " + names[0];
  for (size_t i = 1; i <= references.size(); ++i) design_.references.push_back(names[i]);
  design_.references.insert(design_.references.end(), sequences_.begin(), sequences_.end());
  for (const Course& course : state.courses) design_.workloads.push_back(course.workload->name);
  design_.comparisons = static_cast<int>(design_.references.size());
  design_.plant = kPlant;
  design_.regimes = PureRegimes(*state.contract);
  SetWitness("");
  design_.control_found_before = state.control_found;
  design_.alpha = state.options.alpha;
  design_.asked_margin = std::log1p(state.options.asked_margin);
  design_.most_groups = state.options.most_groups;
}

// Without a trusted arm that is cheap enough, the winner's copy stands in.
void Crowning::SetWitness(const std::string& name) {
  design_.witness = name.empty() ? design_.winner : name;
  design_.witness_copy = "copy of " + design_.witness;
  design_.planted = fmt::format("{} + {:.0f} %", design_.witness_copy, 100 * kPlant);
}

bool Crowning::Compared(const std::string& name) const {
  return std::find(design_.references.begin(), design_.references.end(), name) != design_.references.end();
}

// The fastest arm that nobody has a reason to tune against us: it gets the most units for its time,
// and its own copy and the planted one cost least.  Speed alone chooses it, before any group.
Status Crowning::ChooseWitness() {
  Course& course = state_.courses.front();
  std::vector<Arm> arms = {{.name = design_.winner, .artifact = &winner_, .planted_name = {}}};
  for (const auto& [name, artifact] : artifacts_) {
    arms.push_back(Arm::Of(name, *artifact));
  }
  ASSAY_TRY_STATUS(course.runner->Pace(arms, OptionsOf(course, Depth::kDecide)));
  const auto of_winner = course.runner->PaceOf(winner_);
  double best = of_winner ? kDearWitness * *of_winner : std::numeric_limits<double>::infinity();
  std::string chosen;
  for (const auto& [name, artifact] : artifacts_) {
    const auto pace = course.runner->PaceOf(*artifact);
    const bool trusted = artifact->trusted_code || (state_.witness && state_.witness->artifact().id == artifact->id);
    if (!trusted || !pace || *pace > best) continue;
    best = *pace;
    chosen = name;
  }
  SetWitness(chosen);
  std::erase_if(artifacts_, [&](const auto& one) { return one.first != chosen && !Compared(one.first); });
  return Ok();
}

// Once a session and workload: what this machine can tell apart now, before anybody knows what there is to tell.
Status Crowning::StatePower() {
  Course& course = state_.courses.front();
  auto known = state_.power.find(course.workload->name);
  if (known == state_.power.end()) {
    const auto witness = artifacts_.find(design_.witness);
    const Artifact& artifact = witness == artifacts_.end() ? winner_ : *witness->second;
    ASSAY_TRY(const auto measured,
              MeasurePower(state_, course, artifact, design_.references.size(), ArmsOn(course).size()));
    if (const auto* why = std::get_if<Rejected>(&measured)) {
      if (witness == artifacts_.end()) refused_ = *why;
      if (witness != artifacts_.end()) DropReference(design_.witness, *why);
      return Ok();
    }
    const Power power = std::get<Power>(measured);
    known = state_.power.emplace(course.workload->name, power).first;
    if (power.sigma > 0) {
      state_.Tell(fmt::format("power: this machine, now, can resolve {:.1f} % in {} with {} thread{}",
                              100 * power.resolves, Seconds(power.seconds), power.threads,
                              power.threads == 1 ? "" : "s"));
    }
  }
  power_ = known->second;
  return Ok();
}

Arm Crowning::ArmOf(const Course& course, const std::string& name) const {
  if (const auto artifact = artifacts_.find(name); artifact != artifacts_.end())
    return Arm::Of(name, *artifact->second);
  const auto sequence = std::ranges::find(course.sequences, name, [](const auto& one) { return one->name; });
  ASSAY_CHECK(sequence != course.sequences.end());
  return Arm::Of(**sequence);
}

// Copies are the same bytes in a process of their own.  The witness's copy runs on the headline only.
std::vector<Arm> Crowning::ArmsOn(const Course& course) const {
  const bool headline_course = course.workload->name == headline();
  std::vector<Arm> arms = {{.name = design_.winner, .artifact = &winner_, .planted_name = {}},
                           {.name = design_.copy, .artifact = &winner_, .planted_name = {}}};
  for (const auto& [name, artifact] : artifacts_) {
    if (Compared(name) || headline_course) arms.push_back(Arm::Of(name, *artifact));
  }
  for (const std::string& name : sequences_) arms.push_back(ArmOf(course, name));
  if (!headline_course) return arms;
  const auto witness = artifacts_.find(design_.witness);
  if (witness != artifacts_.end()) arms.push_back(Arm::Of(design_.witness_copy, *witness->second));
  for (Arm& arm : arms) {
    if (arm.name != design_.witness_copy || state_.control_found) continue;
    arm.plant = design_.plant;
    arm.planted_name = design_.planted;
  }
  return arms;
}

void Crowning::DropReference(const std::string& name, const Rejected& why) {
  if (!dropped_arm_) dropped_arm_ = {name, why};
  if (Compared(name)) {
    Decision decision;
    decision.against = name;
    decision.workload = headline();
    decision.note = fmt::format("{} was refused while it was timed: {}: {}", name, Name(why.reason), why.evidence);
    dropped_.push_back(decision);
  }
  std::erase(design_.references, name);
  artifacts_.erase(name);
  sequences_.erase(name);
  // What the old witness has shown of this run still holds.
  design_.control_found_before = design_.control_found_before || state_.control_found;
  if (name == design_.witness) SetWitness("");
}

// True when the group was quiet.
Result<bool> Crowning::RunCourse(Course& course, int group) {
  ASSAY_TRY(const GroupResult result, course.runner->Run(group, ArmsOn(course), OptionsOf(course, Depth::kDecide)));
  units_.insert(units_.end(), result.units.begin(), result.units.end());
  if (result.slowed) probes_.push_back({group, course.workload->name, *result.slowed});
  for (const auto& [arm, why] : result.rejected) {
    const bool of_winner = arm == design_.winner || arm == design_.copy;
    if (of_winner && !refused_) refused_ = why;
    if (!of_winner) DropReference(arm == design_.witness_copy ? design_.witness : arm, why);
  }
  if (result.disturbed && state_.options.redraw) DrawAgain(group, result.why_disturbed);
  return !result.disturbed;
}

void Crowning::DrawAgain(int group, const std::string& why) {
  redraws_.push_back({group, why});
  state_.Tell(fmt::format("decide: group {} is drawn again: {}", kept_ + 1, why));
}

Status Crowning::RunGroup() {
  const int group = state_.next_group++;
  bool quiet = true;
  for (Course& course : state_.courses) {
    ASSAY_TRY(const bool quiet_course, RunCourse(course, group));
    quiet = quiet && quiet_course;
    if (refused_) return Ok();
  }
  if (rates_) {
    const double peak = rates_->ProbePeak();
    if (quiet && state_.options.redraw && !(peak >= kSlowProbe))
      DrawAgain(group, fmt::format("after it the f32 peak was {:.0f} % of the run's usual one", 100 * peak));
    quiet = peak >= kSlowProbe && quiet;
    if (group % kBandwidthEvery == 0) ASSAY_TRY_STATUS(rates_->ProbeBandwidth());
  }
  quiet = quiet || !state_.options.redraw;
  ++(quiet ? kept_ : redrawn_);
  Mark(group, quiet);
  return Ok();
}

// The units of a group count, or they do not.
void Crowning::Mark(int group, bool counts) {
  for (RawUnit& unit : units_) {
    if (unit.group == group) unit.redrawn = !counts;
  }
}

// A restart of the winner and its strongest reference on every workload, a few units each; true when it counts.
Result<bool> Crowning::ShortGroup(int regime, const Figures& figures) {
  const int group = state_.next_group++;
  bool quiet = true;
  for (Course& course : state_.courses) {
    const std::string beside = FastestReference(figures, design_, course.workload->name);
    if (beside.empty()) continue;
    const std::vector<Arm> arms = {{.name = design_.winner, .artifact = &winner_, .planted_name = {}},
                                   ArmOf(course, beside)};
    GroupOptions options = OptionsOf(course, Depth::kCensus);
    options.regime = regime;
    ASSAY_TRY(GroupResult result, course.runner->Run(group, arms, options));
    if (result.disturbed && state_.options.redraw) {
      quiet = false;
      redraws_.push_back({group, result.why_disturbed});
    }
    for (RawUnit& unit : result.units) unit.census = true;
    units_.insert(units_.end(), result.units.begin(), result.units.end());
    if (result.slowed) probes_.push_back({group, course.workload->name, *result.slowed});
    // A group in which somebody was refused says nothing of the winner's speed.
    quiet = quiet && result.rejected.empty();
    for (const auto& [arm, why] : result.rejected) {
      if (arm == design_.winner && !refused_) refused_ = why;
      if (arm != design_.winner) DropReference(arm, why);
    }
    if (!result.rejected.empty()) break;
  }
  Mark(group, quiet);
  ++(quiet ? short_kept_ : short_redrawn_);
  return quiet;
}

// As many with the mixture as the next look at regret wants, and one with each kind of values that is due.
Status Crowning::RunCensus(const Evidence& evidence) {
  const Figures figures(units_);
  std::vector<int> wanted(static_cast<size_t>(evidence.census_due), -1);
  wanted.insert(wanted.end(), evidence.regimes_due.begin(), evidence.regimes_due.end());
  for (size_t next = 0; next < wanted.size() && !refused_ && stopped_.empty();) {
    ASSAY_TRY(const bool quiet, ShortGroup(wanted[next], figures));
    next += quiet ? 1 : 0;
    Stop();
  }
  return Ok();
}

// Whether something forbids another group.
void Crowning::Stop() {
  if (design_.references.empty()) stopped_ = "no reference is left";
  const int kept = kept_ + short_kept_, redrawn = redrawn_ + short_redrawn_;
  if (redrawn > kFreeRedraws + kept)
    stopped_ = fmt::format("the machine is too busy: {} of {} groups were disturbed", redrawn, redrawn + kept);
  if (OutOfTime()) stopped_ = fmt::format("the time for a decision, {:.0f} s, is over", most_seconds_);
}

// What only the whole run shows, of everybody who is not trusted: the winner, and B of `assay bench`.
std::optional<BenchOutcome> Crowning::JudgeTimes() {
  std::vector<std::string> strangers = {design_.winner};
  for (const auto& [name, artifact] : artifacts_) {
    if (Compared(name) && !artifact->trusted_code) strangers.push_back(name);
  }
  const Figures figures(units_);
  for (const std::string& arm : strangers) {
    if (auto why = JudgeTimesOf(arm, figures)) return BenchOutcome{.outcome = *std::move(why), .rejected_arm = arm};
  }
  return std::nullopt;
}

// Times that physics forbids, single calls that are slower.
std::optional<Rejected> Crowning::JudgeTimesOf(const std::string& arm, const Figures& figures) {
  // Where nobody is trusted the winner's copy is the witness, and a stranger is not asked what is dear.
  const bool witnessed = artifacts_.contains(design_.witness) && design_.witness != arm;
  for (const Course& course : state_.courses) {
    const std::string& workload = course.workload->name;
    const auto seconds = figures.Seconds(workload, arm);
    if (!seconds) continue;
    if (auto why = state_.CheckPhysics(course, *seconds, arm, units_, rates_ ? &*rates_ : nullptr)) return why;
    int seen = 0, slower = 0;
    for (const int group : figures.Groups()) {
      const ArmFigures* own = figures.Find(group, workload, arm);
      if (own == nullptr) continue;
      ++seen;
      const ArmFigures* trusted = witnessed ? figures.Find(group, workload, design_.witness) : nullptr;
      slower += GatedSlower(*own, trusted) ? 1 : 0;
    }
    if (seen >= 2 && 2 * slower > seen) {
      return RefusedWhileTimed(
          Reason::kGatedSlower, "gated calls",
          fmt::format("{}: single calls take more than 15 % longer than shared ones in {} of {} groups", workload,
                      slower, seen));
    }
  }
  return std::nullopt;
}

void Crowning::TellProgress(const Evidence& evidence) const {
  std::string text = fmt::format("decide: {} groups", kept_);
  for (const Decision& decision : evidence.decisions) {
    if (decision.workload != headline()) continue;
    text +=
        fmt::format(", {} {} x{:.2f} .. {:.2f}", decision.against, Name(decision.kind), decision.low, decision.high);
    if (decision.restarts > 0)
      text += fmt::format(", {} of {} restarts with regret", decision.bad_restarts, decision.restarts);
  }
  state_.Tell(text);
}

DecisionReport Crowning::Report(const Evidence& evidence) {
  DecisionReport report;
  report.design = design_;
  report.power = power_;
  report.decisions = evidence.decisions;
  report.decisions.insert(report.decisions.end(), dropped_.begin(), dropped_.end());
  for (Decision& decision : report.decisions) {
    if (!stopped_.empty() && !decision.value) decision.note += (decision.note.empty() ? "" : "; ") + stopped_;
  }
  SortByStrength(report.decisions, headline());
  const Figures figures(units_);
  for (const Course& course : state_.courses) {
    auto& seconds = report.workload_seconds[course.workload->name];
    for (const std::string& arm : figures.Arms(course.workload->name)) {
      if (const auto value = figures.Seconds(course.workload->name, arm)) seconds[arm] = *value;
    }
    // A peak that is not believed bounds nothing.
    if (rates_ && rates_->Median().refused.empty())
      report.floors.push_back(ReferenceFloor(course.work, rates_->Median()));
  }
  report.seconds = report.workload_seconds[headline()];
  report.prepare_seconds = PrepareSeconds(units_, headline());
  if (state_.courses.front().workload->state == CacheState::kInSitu) {
    for (const auto& [arm, seconds] : report.seconds)
      report.own_seconds[arm] = seconds * OwnShare(units_, headline(), arm);
  }
  if (rates_) report.rates = rates_->Median();
  report.winner = design_.winner;
  // Order statistics: the same groups bound the interval with or without logarithms.
  const OrderInterval interval = MedianInterval(figures.GroupSeconds(headline(), design_.winner), design_.alpha);
  if (std::isfinite(interval.low)) report.winner_low = interval.low;
  if (std::isfinite(interval.high)) report.winner_high = interval.high;
  report.aa_low = evidence.aa_low;
  report.aa_high = evidence.aa_high;
  report.control_found = evidence.control_found;
  report.units = std::move(units_);
  report.probes = std::move(probes_);
  report.redraws = std::move(redraws_);
  report.seconds_spent = spent_.Seconds();
  return report;
}

Result<BenchOutcome> Crowning::Run(MachineLease& lease) {
  ASSAY_TRY(RunRates* const seen, state_.RatesFor(state_.courses.front().threads));
  // The same run's own rates: its medians start anew, the best ever seen stays the best.
  if (seen != nullptr) rates_ = seen->Anew();
  ASSAY_TRY_STATUS(ChooseWitness());
  ASSAY_TRY_STATUS(StatePower());
  if (refused_) return BenchOutcome{.outcome = std::move(*refused_), .rejected_arm = design_.winner};
  Evidence evidence = DecideFromUnits(units_, design_);
  while (!evidence.settled) {
    ASSAY_TRY_STATUS(state_.GiveWay(lease));
    const bool full = evidence.census_due == 0 && evidence.regimes_due.empty();
    ASSAY_TRY_STATUS(full ? RunGroup() : RunCensus(evidence));
    if (refused_) return BenchOutcome{.outcome = std::move(*refused_), .rejected_arm = design_.winner};
    Stop();
    if (!stopped_.empty()) break;
    if (full && kept_ < evidence.next_look) continue;
    evidence = DecideFromUnits(units_, design_);
    state_.control_found = state_.control_found || evidence.control_found;
    TellProgress(evidence);
  }
  evidence = DecideFromUnits(units_, design_);
  if (seen != nullptr) seen->Raise(*rates_);
  if (auto refused = JudgeTimes()) return std::move(*refused);
  return BenchOutcome{.outcome = Report(evidence), .rejected_arm = ""};
}

}  // namespace

Result<DecideOutcome> KernelTimer::Decide(const Contract& contract, const Examined& winner,
                                          std::span<const Verified> references, double most_seconds) {
  ASSAY_TRY(MachineLease lease, state_->Lease());
  ASSAY_TRY_STATUS(state_->Prepare(contract));
  Crowning crowning(*state_, winner.artifact(), references, true, most_seconds);
  ASSAY_TRY(BenchOutcome decided, crowning.Run(lease));
  return std::move(decided.outcome);
}

Result<KernelTimer::BenchOutcome> KernelTimer::Bench(const Contract& contract, const Verified& a, const Verified& b) {
  ASSAY_TRY(MachineLease lease, state_->Lease());
  ASSAY_TRY_STATUS(state_->Prepare(contract));
  // Each comparison is a run of its own, which has to find its own planted slowdown.
  state_->control_found = false;
  Crowning crowning(*state_, a.artifact(), {&b, 1}, false, 0);
  ASSAY_TRY(BenchOutcome decided, crowning.Run(lease));
  // Without B there is nothing that was compared.
  if (const auto& dropped = crowning.dropped_arm(); dropped && std::holds_alternative<DecisionReport>(decided.outcome))
    return BenchOutcome{.outcome = dropped->second, .rejected_arm = dropped->first};
  return decided;
}

}  // namespace assay
