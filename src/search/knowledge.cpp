// SPDX-License-Identifier: Apache-2.0
#include "search/knowledge.h"

#include <algorithm>
#include <set>

#include "search/plain_math.h"

namespace assay {
namespace {

constexpr double kAbsent = -1;

Fate FateOf(const Attempt& attempt) {
  if (attempt.outcome == OutcomeKind::kFailed) return Fate::kUnknown;
  if (attempt.rejected) {
    const Stage stage = attempt.rejected->stage;
    return stage == Stage::kBuild || stage == Stage::kLoad ? Fate::kDoesNotRun : Fate::kWrong;
  }
  return !attempt.estimates.empty() && attempt.estimates.front().seconds > 0 ? Fate::kMeasured : Fate::kUnknown;
}

// Crashes and time-outs are refusals of the gate, and yet a matter of resources.
bool RanOutOfSomething(const Attempt& attempt) {
  if (!attempt.rejected) return false;
  const Reason reason = attempt.rejected->reason;
  return reason == Reason::kCrash || reason == Reason::kHang || reason == Reason::kOutOfMemory;
}

}  // namespace

Knowledge::Knowledge(const Space& space, const Standing& standing) {
  double fastest = 0;
  bool any = false;
  all_.reserve(standing.attempts->size());
  for (const Attempt& attempt : *standing.attempts) {
    Observation seen;
    seen.ordinal = attempt.ordinal;
    seen.point = space.PointOf(attempt.proposal.candidate);
    seen.proposer = attempt.proposal.proposer;
    seen.parents = attempt.proposal.parents;
    const auto elder = attempt.duplicate_of ? static_cast<size_t>(*attempt.duplicate_of - 1) : all_.size();
    if (elder < all_.size()) {
      seen.fate = all_[elder].fate;
      seen.log_seconds = all_[elder].log_seconds;
    } else {
      seen.fate = RanOutOfSomething(attempt) ? Fate::kDoesNotRun : FateOf(attempt);
      if (seen.fate == Fate::kMeasured) seen.log_seconds = PlainLog(attempt.estimates.front().seconds);
    }
    const bool better = seen.fate == Fate::kMeasured && (!any || seen.log_seconds < fastest);
    if (better) fastest = seen.log_seconds, any = true;
    stagnation_ = better ? 0 : stagnation_ + 1;
    all_.push_back(std::move(seen));
  }
  for (const Observation& seen : all_) {
    if (seen.fate == Fate::kMeasured && seen.point) ranked_.push_back(&seen);
  }
  std::stable_sort(ranked_.begin(), ranked_.end(),
                   [](const Observation* a, const Observation* b) { return a->log_seconds < b->log_seconds; });
}

Features::Features(const Space& space) {
  // By name: every value that any family knows.
  std::map<std::string, std::set<int64_t>> numbers;
  std::map<std::string, std::set<std::string>> words;
  const auto values = [&](size_t family, size_t dimension) -> const std::vector<std::string>& {
    const Template& t = space.family(family);
    return dimension < t.knobs.size() ? t.knobs[dimension].values : t.flags[dimension - t.knobs.size()].options;
  };
  const auto number_of = [&](size_t family, size_t dimension, const std::string& value) {
    return std::get<int64_t>(KnobValue(space.family(family).knobs[dimension], value).data);
  };
  const auto key = [&](size_t family, size_t dimension) {
    const Dimension& d = space.dimensions(family)[dimension];
    return (d.ordered ? "n " : "w ") + d.name;
  };
  for (size_t f = 0; f < space.families(); ++f) {
    for (size_t d = 0; d < space.dimensions(f).size(); ++d) {
      for (const std::string& value : values(f, d)) {
        if (space.dimensions(f)[d].ordered) {
          numbers[key(f, d)].insert(number_of(f, d, value));
        } else {
          words[key(f, d)].insert(value);
        }
      }
    }
  }
  scales_.push_back(Scale::kWords);
  std::map<std::string, size_t> columns;
  for (const auto& [name, known] : numbers) columns[name] = scales_.size(), scales_.push_back(Scale::kOrdered);
  for (const auto& [name, known] : words) columns[name] = scales_.size(), scales_.push_back(Scale::kWords);
  for (size_t f = 0; f < space.families(); ++f) {
    auto& column = column_.emplace_back();
    auto& number = number_.emplace_back();
    for (size_t d = 0; d < space.dimensions(f).size(); ++d) {
      const std::string name = key(f, d);
      column.push_back(columns.at(name));
      std::vector<double>& ranks = number.emplace_back();
      // By rank among all values: powers of two lie as far from each other as their neighbours do.
      for (const std::string& value : values(f, d)) {
        const auto rank = space.dimensions(f)[d].ordered
                              ? std::distance(numbers[name].begin(), numbers[name].find(number_of(f, d, value)))
                              : std::distance(words[name].begin(), words[name].find(value));
        ranks.push_back(static_cast<double>(rank));
      }
    }
  }
}

std::vector<double> Features::Row(const Point& point) const {
  std::vector<double> row(scales_.size(), kAbsent);
  row[0] = static_cast<double>(point.family);
  for (size_t d = 0; d < point.at.size(); ++d) row[column_[point.family][d]] = number_[point.family][d][point.at[d]];
  return row;
}

}  // namespace assay
