// SPDX-License-Identifier: Apache-2.0
#include "measure/race.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "measure/figures.h"
#include "numerics/statistics.h"

namespace assay {
namespace {

constexpr int kRoundGroups[] = {2, 4, 8};
constexpr int kRounds = static_cast<int>(std::size(kRoundGroups));
constexpr int kLossesAhead = 3;

}  // namespace

Race::Race(const std::vector<std::string>& names, std::string workload) : workload_(std::move(workload)) {
  for (const std::string& name : names)
    all_.push_back({.name = name, .against_best = {}, .slower = std::vector<int>(names.size(), 0)});
}

double Race::Contender::Score() const {
  return against_best.empty() ? -std::numeric_limits<double>::infinity() : Median(against_best);
}

std::vector<size_t> Race::StillIn() const {
  std::vector<std::pair<double, size_t>> scored;
  for (size_t i = 0; i < all_.size(); ++i) {
    if (!all_[i].out) scored.emplace_back(all_[i].Score(), i);
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<size_t> standing;
  for (const auto& [score, i] : scored) standing.push_back(i);
  return standing;
}

std::vector<std::string> Race::Standing() const {
  std::vector<std::string> names;
  if (over_) return names;
  for (const size_t i : StillIn()) names.push_back(all_[i].name);
  return names;
}

void Race::Score(std::span<const RawUnit> units) {
  const Figures figures(units);
  for (const int group : figures.Groups()) {
    std::vector<const ArmFigures*> seen;
    for (const Contender& one : all_) seen.push_back(one.out ? nullptr : figures.Find(group, workload_, one.name));
    for (size_t i = 0; i < all_.size(); ++i) {
      double best = std::numeric_limits<double>::infinity();
      for (size_t j = 0; j < all_.size(); ++j) {
        if (i == j || seen[i] == nullptr || seen[j] == nullptr) continue;
        const double ratio = LogRatio(*seen[j], *seen[i]);
        best = std::min(best, ratio);
        all_[i].slower[j] += ratio < 0 ? 1 : -1;
      }
      if (std::isfinite(best)) all_[i].against_best.push_back(best);
    }
  }
}

void Race::Add(std::span<const RawUnit> units, std::span<const std::string> refused) {
  for (Contender& one : all_) {
    if (one.out) continue;
    one.last_round = round_;
    one.refused = std::find(refused.begin(), refused.end(), one.name) != refused.end();
    one.out = one.refused;
  }
  Score(units);
  // Three more losses than wins against the leader of the moment: no further group will turn that.
  const std::vector<size_t> standing = StillIn();
  for (size_t i = 1; i < standing.size(); ++i) {
    Contender& one = all_[standing[i]];
    if (one.slower[standing[0]] >= kLossesAhead) one.out = one.early = true;
  }
  EndOfGroup();
}

void Race::EndOfGroup() {
  const std::vector<size_t> standing = StillIn();
  if (++groups_ < kRoundGroups[round_] && standing.size() >= 2) return;
  groups_ = 0;
  over_ = ++round_ == kRounds || standing.size() < 2;
  if (over_) return;
  for (size_t i = std::max<size_t>(2, (standing.size() + 1) / 2); i < standing.size(); ++i)
    all_[standing[i]].out = true;
}

std::vector<Race::Place> Race::Order() const {
  std::vector<const Contender*> order;
  for (const Contender& one : all_) {
    if (!one.refused) order.push_back(&one);
  }
  std::stable_sort(order.begin(), order.end(), [](const Contender* a, const Contender* b) {
    if (a->out != b->out) return !a->out;
    return a->last_round != b->last_round ? a->last_round > b->last_round : a->Score() > b->Score();
  });
  std::vector<Place> places;
  for (const Contender* one : order) {
    places.push_back({one->name, one->against_best.empty() ? 0 : one->Score(),
                      static_cast<int>(one->against_best.size()), one->early});
  }
  return places;
}

}  // namespace assay
