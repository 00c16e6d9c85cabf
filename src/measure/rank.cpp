// SPDX-License-Identifier: Apache-2.0
//
// Order among verified candidates, by halving: two groups for all, four for the better half, eight
// for the better half of those.  No claim follows from it, so nothing here corrects for looking.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "measure/clock_state.h"
#include "measure/figures.h"
#include "numerics/statistics.h"

namespace assay {
namespace {

constexpr int kRoundGroups[] = {2, 4, 8};
constexpr int kLossesAhead = 3;

struct Contender {
  const Verified* verified = nullptr;
  std::string name;
  std::vector<double> against_best;  // ln(best other / this), by group
  int round = 0;                     // the last one it took part in
  bool out = false, early = false, rejected = false;
  double Score() const {
    return against_best.empty() ? -std::numeric_limits<double>::infinity() : Median(against_best);
  }
};

std::vector<Contender*> StillIn(std::vector<Contender>& all) {
  std::vector<Contender*> standing;
  for (Contender& one : all) {
    if (!one.out) standing.push_back(&one);
  }
  std::stable_sort(standing.begin(), standing.end(),
                   [](const Contender* a, const Contender* b) { return a->Score() > b->Score(); });
  return standing;
}

void ScoreGroup(const Figures& figures, int group, const std::string& workload, std::span<Contender* const> standing) {
  for (Contender* one : standing) {
    const ArmFigures* mine = figures.Find(group, workload, one->name);
    if (mine == nullptr) continue;
    double best = std::numeric_limits<double>::infinity();
    for (const Contender* other : standing) {
      const ArmFigures* theirs = other == one ? nullptr : figures.Find(group, workload, other->name);
      if (theirs != nullptr) best = std::min(best, LogRatio(*theirs, *mine));
    }
    if (std::isfinite(best)) one->against_best.push_back(best);
  }
}

// Three more losses than wins against the leader of the moment: no further group will turn that.
bool Hopeless(const Figures& figures, const std::string& workload, const Contender& leader, const Contender& one) {
  int ahead = 0;
  for (const double ratio : figures.LogRatios(workload, one.name, leader.name)) ahead += ratio > 0 ? 1 : -1;
  return ahead >= kLossesAhead;
}

}  // namespace

Result<Ranking> KernelTimer::Rank(const Contract& contract, std::span<const Verified> verified) {
  State& state = *state_;
  ASSAY_TRY_STATUS(state.Prepare(contract));
  ASSAY_TRY(const MachineLease lease, state.Lease());
  const Stopwatch spent;
  Course& course = state.courses.front();  // the headline orders; a decision looks at all workloads
  const std::string& workload = course.workload->name;

  Ranking ranking;
  std::vector<Contender> all(verified.size());
  std::vector<const Artifact*> artifacts;
  for (const Verified& one : verified) artifacts.push_back(&one.artifact());
  const std::vector<std::string> names = ArmNames(artifacts);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].verified = &verified[i];
    all[i].name = names[i];
  }
  const int rounds = static_cast<int>(std::size(kRoundGroups));
  for (int round = 0; round < rounds; ++round) {
    for (int group = 0; group < kRoundGroups[round]; ++group) {
      const std::vector<Contender*> standing = StillIn(all);
      if (standing.size() < 2) break;
      std::vector<Arm> arms;
      for (const Contender* one : standing)
        arms.push_back({.name = one->name, .artifact = &one->verified->artifact(), .planted_name = {}});
      ASSAY_TRY(const GroupResult result, state.QuietGroup(course, arms, Depth::kRank, ranking.units));
      for (Contender* one : standing) {
        one->round = round;
        for (const auto& [name, why] : result.rejected) {
          if (name != one->name) continue;
          one->out = one->rejected = true;
          ranking.rejected.emplace_back(one->verified->artifact().id, why);
        }
      }
      const std::vector<Contender*> left = StillIn(all);
      if (!result.units.empty()) ScoreGroup(Figures(result.units), result.units.front().group, workload, left);
      const Figures figures(ranking.units);
      const std::vector<Contender*> ordered = StillIn(all);
      for (size_t i = 1; i < ordered.size(); ++i) {
        if (Hopeless(figures, workload, *ordered[0], *ordered[i])) ordered[i]->out = ordered[i]->early = true;
      }
    }
    const std::vector<Contender*> standing = StillIn(all);
    state.Tell(fmt::format("rank: {} of {} still run", standing.size(), all.size()));
    if (round + 1 == rounds) break;
    const size_t kept = std::max<size_t>(2, (standing.size() + 1) / 2);
    for (size_t i = kept; i < standing.size(); ++i) standing[i]->out = true;
  }

  // Whoever lasted longer is ahead; among equals the score decides.
  std::vector<const Contender*> order;
  for (const Contender& one : all) {
    if (!one.rejected) order.push_back(&one);
  }
  std::stable_sort(order.begin(), order.end(), [](const Contender* a, const Contender* b) {
    if (a->out != b->out) return !a->out;
    return a->round != b->round ? a->round > b->round : a->Score() > b->Score();
  });
  for (const Contender* one : order) {
    const double score = one->against_best.empty() ? 0 : one->Score();
    ranking.order.push_back(
        {one->verified->artifact().id, score, static_cast<int>(one->against_best.size()), one->early});
  }
  ranking.seconds_spent = spent.Seconds();
  return ranking;
}

}  // namespace assay
