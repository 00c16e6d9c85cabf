// SPDX-License-Identifier: Apache-2.0
#include "verify/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class RowJudge {
 public:
  RowJudge(const RankRule& rule, std::span<const Key> keys, std::span<const double> indices)
      : rule_(rule), keys_(keys), indices_(indices) {}

  RankVerdict Judge() {
    if (std::ranges::any_of(keys_, [](const Key& k) {
          return !(std::isfinite(k.value) && k.bound < kInfinity) && !std::isinf(k.value);
        })) {
      verdict_.result = ElementResult::kExcluded;
      return verdict_;
    }
    if (!TakeIndices()) return verdict_;
    for (size_t p = 1; p < chosen_.size(); ++p) {
      const size_t weakest = WeakestOf(p);
      Compare(chosen_[p], weakest, p, "order of keys");
    }
    const std::vector<bool> taken = Taken();
    const size_t weakest = WeakestOf(chosen_.size());
    for (size_t k = 0; k < keys_.size() && !chosen_.empty(); ++k) {
      if (!taken[k]) Compare(k, weakest, PositionOf(weakest), "a better key left out");
    }
    JudgeTies(taken);
    return verdict_;
  }

 private:
  // A larger number is a better key, whichever way the contract orders.
  double Better(size_t k) const { return rule_.descending ? keys_[k].value : -keys_[k].value; }

  bool TakeIndices() {
    std::vector<bool> taken(keys_.size());
    for (size_t p = 0; p < indices_.size(); ++p) {
      const double index = indices_[p];
      const bool inside = index >= 0.0 && index < static_cast<double>(keys_.size()) && index == std::floor(index);
      if (!inside) return Fail("range", p, 0), false;
      const auto k = static_cast<size_t>(index);
      if (taken[k]) return Fail("an index twice", p, index), false;
      taken[k] = true;
      chosen_.push_back(k);
    }
    return true;
  }

  void Fail(const char* rule, size_t position, double better) {
    verdict_ = {ElementResult::kWrong, kInfinity, 0.0, kInfinity, position, better, rule};
  }

  std::vector<bool> Taken() const {
    std::vector<bool> taken(keys_.size());
    for (const size_t k : chosen_) taken[k] = true;
    return taken;
  }
  size_t PositionOf(size_t key) const { return static_cast<size_t>(std::ranges::find(chosen_, key) - chosen_.begin()); }

  // Of the first `count` chosen, the one that can least be as good as a later one.  Kept as it grows, so
  // that a row of n costs n.
  size_t WeakestOf(size_t count) {
    for (; seen_ < count; ++seen_) {
      const size_t k = chosen_[seen_];
      if (!weakest_ || Better(k) + keys_[k].bound < Better(*weakest_) + keys_[*weakest_].bound) weakest_ = k;
    }
    return weakest_.value_or(0);
  }

  // `late` must not beat `early` by more than both bounds.
  void Compare(size_t late, size_t early, size_t position, const char* rule) {
    const double limit = keys_[late].bound + keys_[early].bound;
    // Equal infinities differ by nothing.
    const double error = Better(late) == Better(early) ? 0.0 : Better(late) - Better(early);
    const bool right = error <= limit;
    const double ratio = error > 0.0 ? (limit > 0.0 ? error / limit : kInfinity) : 0.0;
    if (!right) verdict_.result = ElementResult::kWrong;
    if (right && ratio <= verdict_.ratio) return;
    if (!right && ratio <= verdict_.ratio && !verdict_.rule.empty()) return;
    verdict_.error = error;
    verdict_.limit = limit;
    verdict_.ratio = right ? ratio : std::max(ratio, std::nextafter(1.0, 2.0));
    verdict_.position = position;
    verdict_.better = static_cast<double>(late);
    verdict_.rule = rule;
  }

  // Keys that every kernel computes exactly can be equal beyond doubt; then the policy decides.
  void JudgeTies(const std::vector<bool>& taken) {
    if (rule_.tie == TiePolicy::kAny || verdict_.result == ElementResult::kWrong) return;
    const auto before = [&](size_t a, size_t b) { return rule_.tie == TiePolicy::kLowest ? a < b : a > b; };
    std::map<double, size_t> last;  // by key: the last one chosen
    for (size_t p = 0; p < chosen_.size(); ++p) {
      const size_t k = chosen_[p];
      if (keys_[k].bound > 0.0) continue;
      const auto [entry, fresh] = last.try_emplace(keys_[k].value, k);
      if (!fresh && !before(entry->second, k))
        return Fail("order of equal keys", p, static_cast<double>(entry->second));
      entry->second = k;
    }
    for (size_t k = 0; k < keys_.size(); ++k) {
      if (taken[k] || keys_[k].bound > 0.0) continue;
      const auto equal = last.find(keys_[k].value);
      if (equal == last.end() || before(equal->second, k)) continue;
      return Fail("order of equal keys", PositionOf(equal->second), static_cast<double>(k));
    }
  }

  RankRule rule_;
  std::span<const Key> keys_;
  std::span<const double> indices_;
  std::vector<size_t> chosen_;
  std::optional<size_t> weakest_;
  size_t seen_ = 0;
  RankVerdict verdict_;
};

}  // namespace

RankRule RankRuleOf(const Compare& compare) {
  RankRule rule;
  rule.descending = compare.order != "ascending";
  rule.tie = compare.tie == "any"       ? TiePolicy::kAny
             : compare.tie == "highest" ? TiePolicy::kHighest
                                        : TiePolicy::kLowest;
  return rule;
}

std::vector<double> RankedIndices(const RankRule& rule, std::span<const Key> keys, size_t count) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto badness = [&](size_t k) {
    const double value = keys[k].value;
    return std::isnan(value) ? kInfinity : rule.descending ? -value : value;
  };
  const size_t best = std::min(count, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(best), [&](size_t a, size_t b) {
    const double x = badness(a), y = badness(b);
    if (x != y) return x < y;
    return rule.tie == TiePolicy::kHighest ? a > b : a < b;
  });
  std::vector<double> indices(count);
  for (size_t p = 0; p < best; ++p) indices[p] = static_cast<double>(order[p]);
  return indices;
}

RankVerdict JudgeRanking(const RankRule& rule, std::span<const Key> keys, std::span<const double> indices) {
  return RowJudge(rule, keys, indices).Judge();
}

}  // namespace assay
