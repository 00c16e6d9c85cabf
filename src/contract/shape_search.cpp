// SPDX-License-Identifier: Apache-2.0
#include "contract/shape_search.h"

#include <algorithm>
#include <set>

namespace assay {
namespace {

constexpr int64_t kSearchBudget = 400'000;  // evaluations; well under a second

}  // namespace

ShapeSearch::ShapeSearch(const Contract& contract) : contract_(contract) {
  std::vector<std::string> axes;
  for (const Axis& axis : contract.axes) axes.push_back(axis.name);
  for (const Expression& expression : contract.require) {
    Condition condition;
    Result<BoundExpression> bound = expression.Bind(axes);
    condition.over_strides = !bound.ok();
    if (bound.ok()) condition.bound = std::move(bound).value();
    for (const std::string& name : expression.NamesUsed()) {
      const auto found = std::ranges::find(axes, name);
      if (found != axes.end()) condition.axes.push_back(static_cast<size_t>(found - axes.begin()));
    }
    conditions_.push_back(std::move(condition));
  }
}

struct ShapeSearch::Walk {
  const Candidates& candidates;
  int64_t budget;
  std::vector<size_t> order;
  std::vector<std::vector<const Condition*>> due;  // per depth: the conditions that can be computed there first
  std::vector<Value> values;
};

bool ShapeSearch::Descend(Walk& walk, size_t depth) const {
  if (depth == walk.order.size()) return true;
  const size_t axis = walk.order[depth];
  for (const int64_t size : walk.candidates[axis]) {
    if (walk.budget-- <= 0) return false;
    walk.values[axis].data = size;
    // A condition that cannot be computed (a division by a size of 0) does not hold.
    const bool holds = std::ranges::all_of(walk.due[depth], [&](const Condition* condition) {
      --walk.budget;
      const Result<bool> truth = condition->bound.EvaluateCondition(walk.values);
      return truth.ok() && truth.value();
    });
    if (holds && Descend(walk, depth + 1)) return true;
  }
  return false;
}

ShapeSearch::Outcome ShapeSearch::Find(const Candidates& candidates, int64_t budget, const std::vector<bool>& skip,
                                       const std::vector<size_t>& order) const {
  Outcome outcome;
  const size_t count = candidates.size();
  if (count == 0) {
    // Without axes a condition is a constant; the caller's final check judges it.
    outcome.sizes = Sizes();
    return outcome;
  }
  Walk walk{candidates, budget, order, std::vector<std::vector<const Condition*>>(count),
            std::vector<Value>(count, Value{int64_t{0}})};
  std::vector<size_t> depth_of(count);
  for (size_t i = 0; order.empty() && i < count; ++i) walk.order.push_back(i);
  for (size_t depth = 0; depth < count; ++depth) depth_of[walk.order[depth]] = depth;
  for (size_t i = 0; i < conditions_.size(); ++i) {
    if (conditions_[i].over_strides || (i < skip.size() && skip[i])) continue;
    size_t last = 0;
    for (const size_t axis : conditions_[i].axes) last = std::max(last, depth_of[axis]);
    walk.due[last].push_back(&conditions_[i]);
  }
  if (Descend(walk, 0)) {
    outcome.sizes.emplace();
    for (const Value& value : walk.values) outcome.sizes->push_back(std::get<int64_t>(value.data));
  }
  outcome.complete = walk.budget > 0;
  return outcome;
}

ShapeSearch::Candidates ShapeSearch::AllCandidates(size_t most_per_axis) const {
  Candidates all;
  for (const Axis& axis : contract_.axes) {
    if (!axis.of.empty()) {
      all.push_back(axis.of);
      continue;
    }
    Sizes sizes;
    if (axis.max - axis.min < static_cast<int64_t>(most_per_axis)) {
      for (int64_t size = axis.min; size <= axis.max; ++size) sizes.push_back(size);
    } else {
      std::set<int64_t> chosen = {axis.min, axis.min + 1, axis.max - 1, axis.max};
      for (const int64_t near : axis.near) chosen.insert(near);
      for (const Workload& workload : contract_.workloads) {
        const auto found = workload.axes.find(axis.name);
        if (found != workload.axes.end()) chosen.insert(found->second);
      }
      for (int64_t power = 1; power <= axis.max; power *= 2)
        chosen.insert({power - 1, power, power + 1, power + power / 2});
      for (int64_t small = 0; small < 64; ++small) chosen.insert(axis.min + small);
      for (const int64_t size : chosen) {
        if (size >= axis.min && size <= axis.max) sizes.push_back(size);
      }
    }
    all.push_back(std::move(sizes));
  }
  return all;
}

bool ShapeSearch::IsWhole(size_t axis, size_t candidates) const {
  const Axis& a = contract_.axes[axis];
  return !a.of.empty() || a.max - a.min + 1 == static_cast<int64_t>(candidates);
}

std::optional<Contradiction> FindContradiction(const Contract& contract) {
  const ShapeSearch search(contract);
  if (search.conditions() == 0) return std::nullopt;
  const ShapeSearch::Candidates candidates = search.AllCandidates(1024);
  bool whole = true;
  for (size_t i = 0; i < candidates.size(); ++i) whole = whole && search.IsWhole(i, candidates[i].size());
  const auto fails = [&](const std::vector<size_t>& kept, int64_t budget, bool& complete) {
    std::vector<bool> skip(search.conditions(), true);
    for (const size_t i : kept) skip[i] = false;
    const ShapeSearch::Outcome outcome = search.Find(candidates, budget, skip);
    complete = outcome.complete && whole;
    return !outcome.sizes;
  };
  std::vector<size_t> all(search.conditions());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  Contradiction found;
  if (!fails(all, kSearchBudget, found.complete)) return std::nullopt;
  // Leave out what is not needed for the contradiction; what remains is a smallest set of it.
  found.conditions = all;
  for (size_t i = 0; i < found.conditions.size() && found.conditions.size() > 1;) {
    std::vector<size_t> fewer = found.conditions;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    bool complete = true;
    if (fails(fewer, kSearchBudget / 8, complete)) {
      found.conditions = std::move(fewer);
      found.complete = complete;
    } else {
      ++i;
    }
  }
  return found;
}

}  // namespace assay
