// SPDX-License-Identifier: Apache-2.0
#include "measure/decide.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "measure/figures.h"
#include "numerics/statistics.h"

namespace assay {
namespace {

// Two-sided 95 %: a reproduction interval is to hold 19 of 20 re-measurements.
constexpr double kNineteenOfTwenty = 1.96;
// From this many groups on the 80th percentile of regret is asked, before it the second worst.
constexpr size_t kPercentileFrom = 10;
// So many restarts with one kind of values, all with regret: by chance one in a thousand at the share that is minded.
constexpr int kAlways = 3;

using Values = std::vector<double>;

Values First(const Values& values, int count) {
  return {values.begin(), values.begin() + std::min<std::ptrdiff_t>(count, static_cast<std::ptrdiff_t>(values.size()))};
}

int CountAbove(const Values& values, double threshold) {
  return static_cast<int>(std::count_if(values.begin(), values.end(), [&](double v) { return v > threshold; }));
}

Values Negated(Values values) {
  for (double& value : values) value = -value;
  return values;
}

// What the exact binomial says of one comparison at one look.
class Looks {
 public:
  Looks(const SequentialDesign& design, int most) {
    for (const SequentialLook& look : design.looks) {
      if (look.groups <= most) looks_.push_back(look);
    }
  }
  const std::vector<SequentialLook>& all() const { return looks_; }
  // The median of `values` lies above `threshold`, by this look's boundary.
  static bool Above(const Values& values, double threshold, const SequentialLook& look) {
    return CountAbove(First(values, look.groups), threshold) >= look.wins;
  }
  // Whether any later look could still say so, if all groups to come were wins.
  bool CanStill(const Values& values, double threshold, const SequentialLook& now) const {
    return CanStill(First(values, now.groups), threshold);
  }
  bool CanStill(const Values& values, double threshold) const {
    const int groups = static_cast<int>(values.size()), wins = CountAbove(values, threshold);
    return std::any_of(looks_.begin(), looks_.end(), [&](const SequentialLook& later) {
      return later.groups > groups && wins + later.groups - groups >= later.wins;
    });
  }

 private:
  std::vector<SequentialLook> looks_;
};

// In how many groups the winner was how much slower: the second worst, or the 80th percentile.
double RegretOf(const Values& ratios) {
  Values regret = Negated(ratios);
  std::sort(regret.begin(), regret.end(), std::greater<>());
  if (regret.size() < 2) return -std::numeric_limits<double>::infinity();
  return regret[regret.size() < kPercentileFrom ? 1 : regret.size() / 5];
}

// One verdict that stands by its own groups, before the run as a whole is judged.
struct Verdict {
  DecisionKind kind = DecisionKind::kUndecided;
  bool final = false;  // decided, or no later look can decide
  std::string note;
};

// `sharp`: the run has found its planted slowdown, which is larger than the band of SAME.
Verdict VerdictAt(const Looks& looks, const SequentialLook& look, const Values& ratios, const Values& copy_ratios,
                  double margin, bool sharp) {
  const Values opposite = Negated(ratios);
  if (Looks::Above(ratios, margin, look)) {
    const double regret = std::max(RegretOf(First(ratios, look.groups)), RegretOf(First(copy_ratios, look.groups)));
    if (regret < kRegret) return {DecisionKind::kFaster, true, ""};
    return {DecisionKind::kUnstable, false,
            fmt::format("faster in the median, but {:.1f} % slower in its bad groups", 100 * std::expm1(regret))};
  }
  if (Looks::Above(opposite, margin, look)) return {DecisionKind::kSlower, true, ""};
  if (sharp && Looks::Above(ratios, -kSameBand, look) && Looks::Above(opposite, -kSameBand, look))
    return {DecisionKind::kSame, true, ""};
  const bool open = looks.CanStill(ratios, margin, look) || looks.CanStill(opposite, margin, look) ||
                    (looks.CanStill(ratios, -kSameBand, look) && looks.CanStill(opposite, -kSameBand, look));
  return {DecisionKind::kUndecided, !open,
          fmt::format("{} groups do not agree beyond the margin of {:.1f} %", look.groups, 100 * std::expm1(margin))};
}

// What a user would have met.
struct Restart {
  double log_ratio = 0;  // the reference's time over the winner's
  bool Regretted() const { return !(log_ratio > -kRegret); }
};

int CountRegretted(std::span<const Restart> restarts) {
  return static_cast<int>(
      std::count_if(restarts.begin(), restarts.end(), [](const Restart& one) { return one.Regretted(); }));
}

// What all comparisons of one run share.
class Judge {
 public:
  Judge(std::span<const RawUnit> units, const DecisionDesign& design)
      : design_(design),
        figures_(units),
        census_(units, Figures::Of::kCensus),
        groups_(figures_.Groups()),
        alpha_(design.alpha / std::max({1, design.comparisons, static_cast<int>(design.references.size())})),
        looks_(GroupSequential(alpha_), design.most_groups),
        rare_(RareLosses(design.bad_share, alpha_)),
        headline_(design.workloads.empty() ? "" : design.workloads.front()) {
    if (!design.witness.empty()) witness_ = figures_.LogRatios(headline_, design.witness, design.witness_copy);
    if (!design.planted.empty()) planted_ = figures_.LogRatios(headline_, design.planted, design.witness);
    copy_ = figures_.LogRatios(headline_, design.copy, design.winner);
  }

  Evidence Run() const;
  std::vector<LookSeen> LooksAt(const std::string& reference, const std::string& workload) const;

 private:
  // Whether this run has to find a planted slowdown itself.
  bool ControlDue() const { return !design_.planted.empty() && !design_.control_found_before; }
  double MarginAt(int groups) const;
  double ResolutionAt(const SequentialLook& look) const;
  bool Blind() const;
  Decision Compare(const std::string& reference, const std::string& workload, bool& final) const;
  std::vector<Restart> Restarts(const std::string& reference, const std::string& workload) const;
  std::vector<Restart> RestartsOf(int regime, const Decision& decision, double offset) const;
  double BesideOver(const std::string& reference, const std::string& beside, const std::string& workload) const;
  void AskForRegret(Decision& decision, Evidence& evidence) const;
  void AskEachRegime(Decision& decision, Evidence& evidence) const;
  void JudgeWorkloads(std::span<Decision> of_reference, Evidence& evidence) const;
  void JudgeInstrument(Evidence& evidence) const;
  bool FoundIn(const Values& ratios, double threshold) const;

  const DecisionDesign& design_;
  Figures figures_, census_;
  std::vector<int> groups_;
  double alpha_;
  Looks looks_;
  SequentialDesign rare_;
  std::string headline_;
  Values witness_, planted_, copy_;
};

// 2 standard errors of the trusted arm against itself; of the winner only where nobody is trusted,
// for a noisy winner must not be able to raise the bar for others.
double Judge::MarginAt(int groups) const {
  const Values& control = witness_.empty() ? copy_ : witness_;
  return std::max({design_.asked_margin, 2 * MedianStandardError(First(control, groups)), kLeastMargin});
}

bool Judge::FoundIn(const Values& ratios, double threshold) const {
  return std::any_of(looks_.all().begin(), looks_.all().end(), [&](const SequentialLook& look) {
    return look.groups <= static_cast<int>(ratios.size()) && Looks::Above(ratios, threshold, look);
  });
}

// The least slowdown that this run, by this look, would have found, ln; 0 once it has found the planted
// one.  A run that misses 3 % may still see a factor of two: it claims what it could have found.
double Judge::ResolutionAt(const SequentialLook& look) const {
  if (!ControlDue()) return 0;
  Values seen = First(planted_, look.groups);
  if (FoundIn(seen, 0)) return 0;
  if (static_cast<int>(seen.size()) < look.groups) return std::numeric_limits<double>::infinity();
  const auto least = seen.begin() + (look.wins - 1);
  std::nth_element(seen.begin(), least, seen.end(), std::greater<>());
  return std::log1p(design_.plant) - *least;
}

// A real delay of which not even half is seen: whatever this instrument measures, it is not time.
bool Judge::Blind() const { return FoundIn(Negated(planted_), -std::log1p(design_.plant / 2)); }

Decision Judge::Compare(const std::string& reference, const std::string& workload, bool& final) const {
  Decision decision;
  decision.against = reference;
  decision.workload = workload;
  decision.alpha = alpha_;
  decision.redrawn = figures_.redrawn();
  const Values ratios = figures_.LogRatios(workload, reference, design_.winner);
  const Values copy_ratios = figures_.LogRatios(workload, reference, design_.copy);
  decision.groups = static_cast<int>(ratios.size());
  decision.group_log_ratios = ratios;
  decision.margin = MarginAt(decision.groups);
  final = false;
  if (ratios.empty()) {
    decision.note = "no group timed both";
    return decision;
  }
  // The first look that decides is the decision; what comes after it only sharpens the interval.
  Verdict verdict{.kind = DecisionKind::kUndecided, .final = false, .note = "too few groups for the first look"};
  for (const SequentialLook& look : looks_.all()) {
    if (look.groups > decision.groups || verdict.final) break;
    const double resolution = ResolutionAt(look), margin = MarginAt(look.groups);
    decision.margin = std::max(margin, resolution);
    verdict = VerdictAt(looks_, look, ratios, copy_ratios, decision.margin, resolution <= 0);
    if (verdict.kind == DecisionKind::kUndecided && resolution > 0) {
      verdict.final = false;
      verdict.note = fmt::format(
          "no claim: the run did not find a planted {:.0f} %, and this is not beyond what it would have found",
          100 * design_.plant);
    }
  }
  decision.kind = verdict.kind;
  decision.note = verdict.note;
  final = verdict.final || looks_.all().empty() || decision.groups >= looks_.all().back().groups;

  const double middle = Median(ratios);
  const OrderInterval interval = MedianInterval(ratios, alpha_);
  if (!std::isfinite(interval.low)) return decision;  // too few groups for any interval; nothing is decided then
  const double between = kNineteenOfTwenty * design_.between_runs;
  decision.low = std::exp(interval.low);
  decision.high = std::exp(interval.high);
  // Three independent spreads, because a second measurement of this size has its own; written out, so that whoever
  // recomputes it gets the last digit too.
  const double again = design_.second_run ? (interval.high - interval.low) / 2 : 0;
  const auto together = [&](double here) { return std::sqrt(here * here + again * again + between * between); };
  decision.reproduction_low = std::exp(middle - together(middle - interval.low));
  decision.reproduction_high = std::exp(middle + together(interval.high - middle));
  if (IsClaim(decision.kind)) decision.value = std::exp(middle);
  return decision;
}

std::vector<LookSeen> Judge::LooksAt(const std::string& reference, const std::string& workload) const {
  const Values ratios = figures_.LogRatios(workload, reference, design_.winner);
  std::vector<LookSeen> seen;
  for (const SequentialLook& look : looks_.all()) {
    if (look.groups > static_cast<int>(ratios.size())) break;
    const double margin = std::max(MarginAt(look.groups), ResolutionAt(look));
    const Values first = First(ratios, look.groups);
    seen.push_back({look.groups, look.wins, margin, CountAbove(first, margin), CountAbove(Negated(first), margin)});
  }
  return seen;
}

// What must be added to the ratio of `beside` and the winner in a short group, so that it is that of `reference`: known
// from the full groups.  Where single calls are what counts, the winner's shared ones say too much for it.
double Judge::BesideOver(const std::string& reference, const std::string& beside, const std::string& workload) const {
  Values of_groups, too_much;
  for (const int full : groups_) {
    const ArmFigures* slow = figures_.Find(full, workload, reference);
    const ArmFigures* known = figures_.Find(full, workload, beside);
    const ArmFigures* mine = figures_.Find(full, workload, design_.winner);
    if (slow == nullptr || known == nullptr || mine == nullptr) continue;
    of_groups.push_back(SharedLogRatio(*slow, *known));
    too_much.push_back(SharedLogRatio(*slow, *mine) - LogRatio(*slow, *mine));
  }
  return Median(of_groups) - std::max(0.0, Median(too_much));
}

// With the mixture of values, which is what a user meets.  Full groups first: there the copy is the winner started once
// more, and the worse of both is what counts.
std::vector<Restart> Judge::Restarts(const std::string& reference, const std::string& workload) const {
  std::vector<Restart> restarts;
  for (const int group : groups_) {
    const ArmFigures* slow = figures_.Find(group, workload, reference);
    const ArmFigures* winner = figures_.Find(group, workload, design_.winner);
    const ArmFigures* copy = figures_.Find(group, workload, design_.copy);
    if (slow == nullptr || winner == nullptr) continue;
    const double ratio = LogRatio(*slow, *winner);
    restarts.push_back({copy == nullptr ? ratio : std::min(ratio, LogRatio(*slow, *copy))});
  }
  std::map<std::string, double> offsets;  // by the arm that stood beside the winner
  for (const int group : census_.Groups()) {
    const ArmFigures* winner = census_.Find(group, workload, design_.winner);
    if (winner == nullptr || winner->regime >= 0) continue;
    for (const std::string& arm : census_.Arms(workload)) {
      const ArmFigures* beside = arm == design_.winner ? nullptr : census_.Find(group, workload, arm);
      if (beside == nullptr) continue;
      if (!offsets.contains(arm)) offsets[arm] = BesideOver(reference, arm, workload);
      restarts.push_back({offsets[arm] + SharedLogRatio(*beside, *winner)});
      break;
    }
  }
  return restarts;
}

// With values of one kind, beside the reference itself: how other arms compare with it there nobody knows.
std::vector<Restart> Judge::RestartsOf(int regime, const Decision& decision, double offset) const {
  std::vector<Restart> restarts;
  for (const int group : census_.Groups()) {
    const ArmFigures* winner = census_.Find(group, decision.workload, design_.winner);
    const ArmFigures* beside = census_.Find(group, decision.workload, decision.against);
    if (winner == nullptr || beside == nullptr || winner->regime != regime) continue;
    restarts.push_back({offset + SharedLogRatio(*beside, *winner)});
  }
  return restarts;
}

// What a FASTER has to show besides: that restarts with regret are rare.  Medians cannot, and so few groups rarely
// hold a bad one.
void Judge::AskForRegret(Decision& decision, Evidence& evidence) const {
  if (decision.kind != DecisionKind::kFaster || rare_.looks.empty()) return;
  const std::vector<Restart> restarts = Restarts(decision.against, decision.workload);
  const auto losses_in = [&](int groups) {
    return CountRegretted(std::span(restarts).first(static_cast<size_t>(groups)));
  };
  decision.restarts = static_cast<int>(restarts.size());
  decision.bad_restarts = losses_in(decision.restarts);
  int due = 0;
  for (const SequentialLook& look : rare_.looks) {
    const int allowed = look.groups - look.wins;
    if (look.groups <= decision.restarts && losses_in(look.groups) <= allowed) return AskEachRegime(decision, evidence);
    if (due == 0 && look.groups > decision.restarts && decision.bad_restarts <= allowed)
      due = look.groups - decision.restarts;
  }
  evidence.census_due = std::max(evidence.census_due, due);
  decision.kind = due > 0 ? DecisionKind::kUndecided : DecisionKind::kUnstable;
  decision.note = fmt::format("faster in the median, but {} of {} restarts were slower by more than {:.0f} %{}",
                              decision.bad_restarts, decision.restarts, 100 * std::expm1(kRegret),
                              due > 0 ? "; too few were seen to say that this is rare" : "");
}

// Each kind of values alone, against the strongest reference.  One that brings regret whenever it is met is no
// accident; what was never met is a gap that is filled first.
void Judge::AskEachRegime(Decision& decision, Evidence& evidence) const {
  if (decision.against != FastestReference(figures_, design_, decision.workload)) return;
  const double offset = BesideOver(decision.against, decision.against, decision.workload);
  int unmeasured = 0;
  for (size_t regime = 0; regime < design_.regimes.size(); ++regime) {
    const std::vector<Restart> restarts = RestartsOf(static_cast<int>(regime), decision, offset);
    Values ratios;
    for (const Restart& one : restarts) ratios.push_back(one.log_ratio);
    RegimeFigure figure{.values = design_.regimes[regime],
                        .times = {},
                        .restarts = static_cast<int>(restarts.size()),
                        .bad_restarts = CountRegretted(restarts)};
    if (!ratios.empty()) figure.times = std::exp(Median(ratios));
    const bool only_bad = figure.bad_restarts == figure.restarts;  // also where there was none
    if (only_bad && figure.restarts >= kAlways) {
      decision.kind = DecisionKind::kUnstable;
      decision.note = fmt::format("faster in the median, but {:.1f} % slower where all values are {}",
                                  100 * std::expm1(-Median(ratios)), figure.values);
    } else if (only_bad) {
      ++unmeasured;
      evidence.regimes_due.insert(static_cast<int>(regime));
    }
    decision.regimes.push_back(std::move(figure));
  }
  if (decision.kind != DecisionKind::kFaster || unmeasured == 0) return;
  decision.kind = DecisionKind::kUndecided;
  decision.note =
      fmt::format("faster in the median, but {} kinds of values were not seen alone, or only slower", unmeasured);
}

// What one workload says of the others of the same reference.
void Judge::JudgeWorkloads(std::span<Decision> of_reference, Evidence& evidence) const {
  std::string slower_on, unmeasured;
  for (const Decision& decision : of_reference) {
    if (decision.kind == DecisionKind::kSlower) slower_on = decision.workload;
    if (decision.groups == 0) unmeasured = decision.workload;
  }
  for (Decision& decision : of_reference) {
    const bool favourable = decision.kind == DecisionKind::kFaster || decision.kind == DecisionKind::kSame;
    if (favourable && !unmeasured.empty()) {
      decision.kind = DecisionKind::kUndecided;
      decision.note = fmt::format("no claim: not measured on workload {}", unmeasured);
    } else if (decision.kind == DecisionKind::kFaster && !slower_on.empty()) {
      decision.kind = DecisionKind::kUndecided;
      decision.note = fmt::format("no claim: slower on workload {}", slower_on);
    } else {
      AskForRegret(decision, evidence);
    }
    if (!IsClaim(decision.kind)) decision.value.reset();
  }
}

// An instrument that tells an arm from its own copy is biased; one that misses 3 % is dull.
void Judge::JudgeInstrument(Evidence& evidence) const {
  const Values& control = witness_.empty() ? copy_ : witness_;
  if (!control.empty()) {
    const OrderInterval interval = MedianInterval(control, alpha_);
    if (std::isfinite(interval.low)) {
      evidence.aa_low = interval.low;
      evidence.aa_high = interval.high;
    }
  }
  for (const Values* same : {&copy_, &witness_}) {
    const double margin = MarginAt(static_cast<int>(same->size()));
    evidence.aa_decided = evidence.aa_decided || FoundIn(*same, margin) || FoundIn(Negated(*same), margin);
  }
  evidence.control_found = !ControlDue() || FoundIn(planted_, 0);
}

Evidence Judge::Run() const {
  Evidence evidence;
  bool all_final = true;
  for (const std::string& reference : design_.references) {
    const size_t first = evidence.decisions.size();
    for (const std::string& workload : design_.workloads) {
      bool final = false;
      evidence.decisions.push_back(Compare(reference, workload, final));
      all_final = all_final && final;
    }
    JudgeWorkloads(std::span(evidence.decisions).subspan(first), evidence);
  }
  const int groups = static_cast<int>(groups_.size());
  evidence.margin = MarginAt(groups);
  JudgeInstrument(evidence);
  const bool spent = looks_.all().empty() || groups >= looks_.all().back().groups;
  // What a run has not decided that can no longer find its planted slowdown, it leaves undecided.
  const bool dull = !evidence.control_found && !looks_.CanStill(planted_, 0);
  const bool blind = ControlDue() && Blind();
  const bool no_claim = evidence.aa_decided || blind;
  const bool full = spent || no_claim || dull || all_final;  // no further full group can change anything
  if (!full || no_claim) {
    evidence.census_due = 0;
    evidence.regimes_due.clear();
  }
  evidence.settled = full && evidence.census_due == 0 && evidence.regimes_due.empty();
  evidence.next_look = groups;
  for (const SequentialLook& look : looks_.all()) {
    if (look.groups <= groups) continue;
    evidence.next_look = look.groups;
    break;
  }
  if (!no_claim) return evidence;
  for (Decision& decision : evidence.decisions) {
    decision.kind = DecisionKind::kUndecided;
    decision.value.reset();
    decision.note = evidence.aa_decided ? "no claim: the run told an arm from its own copy"
                                        : fmt::format("no claim: of a planted {:.0f} % the run did not see even half",
                                                      100 * design_.plant);
  }
  return evidence;
}

}  // namespace

Evidence DecideFromUnits(std::span<const RawUnit> units, const DecisionDesign& design) {
  return Judge(units, design).Run();
}

std::vector<LookSeen> LooksAt(std::span<const RawUnit> units, const DecisionDesign& design,
                              const std::string& reference, const std::string& workload) {
  return Judge(units, design).LooksAt(reference, workload);
}

std::string FastestReference(const Figures& figures, const DecisionDesign& design, const std::string& workload) {
  std::string fastest;
  double best = std::numeric_limits<double>::infinity();
  for (const std::string& reference : design.references) {
    const auto seconds = figures.Seconds(workload, reference);
    if (!seconds || !(*seconds < best)) continue;
    best = *seconds;
    fastest = reference;
  }
  return fastest;
}

void SortByStrength(std::vector<Decision>& decisions, const std::string& headline) {
  // By what the winner surely has over each on the headline; a reference's other workloads follow it.
  const auto strength = [&](const Decision& decision) {
    for (const Decision& other : decisions) {
      if (other.against == decision.against && other.workload == headline && other.groups > 0) return other.low;
    }
    return std::numeric_limits<double>::infinity();
  };
  std::vector<std::pair<double, Decision>> keyed;
  for (const Decision& decision : decisions) keyed.emplace_back(strength(decision), decision);
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < keyed.size(); ++i) decisions[i] = std::move(keyed[i].second);
}

}  // namespace assay
