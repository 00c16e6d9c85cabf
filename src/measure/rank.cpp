// SPDX-License-Identifier: Apache-2.0
//
// Order among verified candidates, group by group as the race asks for them.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "measure/clock_state.h"
#include "measure/race.h"

namespace assay {

Result<Ranking> KernelTimer::Rank(const Contract& contract, std::span<const Verified> verified) {
  State& state = *state_;
  ASSAY_TRY(const MachineLease lease, state.Lease());
  ASSAY_TRY_STATUS(state.Prepare(contract));
  const Stopwatch spent;
  Course& course = state.courses.front();  // the headline orders; a decision looks at all workloads

  std::vector<const Artifact*> artifacts;
  for (const Verified& one : verified) artifacts.push_back(&one.artifact());
  const std::vector<std::string> names = ArmNames(artifacts);
  std::map<std::string, const Artifact*> by_name;
  for (size_t i = 0; i < names.size(); ++i) by_name[names[i]] = artifacts[i];

  Ranking ranking;
  Race race(names, course.workload->name);
  for (std::vector<std::string> standing = race.Standing(); standing.size() >= 2;) {
    std::vector<Arm> arms;
    for (const std::string& name : standing)
      arms.push_back({.name = name, .artifact = by_name.at(name), .planted_name = {}});
    ASSAY_TRY(const GroupResult result, state.QuietGroup(course, arms, Depth::kRank, ranking.units));
    std::vector<std::string> refused;
    for (const auto& [name, why] : result.rejected) {
      refused.push_back(name);
      ranking.rejected.emplace_back(by_name.at(name)->id, why);
    }
    race.Add(result.units, refused);
    std::vector<std::string> next = race.Standing();
    if (next.size() != standing.size()) state.Tell(fmt::format("rank: {} of {} still run", next.size(), names.size()));
    standing = std::move(next);
  }
  for (const Race::Place& place : race.Order())
    ranking.order.push_back({by_name.at(place.name)->id, place.log_ratio, place.groups, place.early});
  ranking.seconds_spent = spent.Seconds();
  return ranking;
}

}  // namespace assay
