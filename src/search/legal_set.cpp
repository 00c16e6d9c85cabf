// SPDX-License-Identifier: Apache-2.0
#include "search/legal_set.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/check.h"
#include "base/text.h"

namespace assay {
namespace {

// Nodes of a walk before the space counts as too large for one.
constexpr size_t kMostSteps = 30'000'000;
constexpr size_t kMostStepsOfADraw = 200'000;
constexpr int kDraws = 2000;

uint16_t DefaultIndex(const Knob& knob) {
  const auto at = std::find(knob.values.begin(), knob.values.end(), knob.default_value);
  return at == knob.values.end() ? uint16_t{0} : static_cast<uint16_t>(at - knob.values.begin());
}

std::vector<std::string> NamesOf(const Template& family) {
  std::vector<std::string> names;
  for (const Knob& knob : family.knobs) names.push_back(knob.name);
  return names;
}

std::vector<size_t> PlacesOf(const Expression& expression, const std::vector<std::string>& names) {
  std::vector<size_t> places;
  for (const std::string& used : expression.NamesUsed()) {
    const auto at = std::find(names.begin(), names.end(), used);
    if (at != names.end()) places.push_back(static_cast<size_t>(at - names.begin()));
  }
  return places;
}

// A condition that cannot be evaluated at a point (division by zero) excludes the point.
bool Holds(const BoundExpression& condition, std::span<const Value> values) {
  const Result<bool> value = condition.EvaluateCondition(values);
  return value.ok() && value.value();
}

}  // namespace

Value KnobValue(const Knob& knob, const std::string& text) {
  if (!knob.integers) return Value{text};
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return Value{number};
}

// Depth first through the settings, with the values of assigned knobs beside their indices.
class LegalSet::Walk {
 public:
  // `seen` gets each setting and says whether to go on; `first` says with which of its values a knob begins.
  template <typename Seen, typename First>
  static bool Through(const LegalSet& set, size_t most_steps, Seen seen, First first) {
    Walk walk(set, most_steps);
    walk.Descend(0, seen, first);
    return walk.steps_ <= most_steps;
  }

 private:
  Walk(const LegalSet& set, size_t most_steps)
      : set_(set), most_steps_(most_steps), setting_(set.knobs_), values_(set.knobs_) {}

  template <typename Seen, typename First>
  bool Descend(size_t depth, Seen& seen, First& first) {
    if (depth == set_.knobs_) return seen(std::span<const uint16_t>(setting_));
    const size_t knob = set_.order_[depth];
    const bool on = !set_.switch_on_[knob] || Holds(*set_.switch_on_[knob], values_);
    const size_t count = on ? set_.values_[knob].size() : 1, start = on ? first(count) : set_.defaults_[knob];
    for (size_t i = 0; i < count; ++i) {
      if (++steps_ > most_steps_) return false;
      const size_t value = (start + i) % set_.values_[knob].size();
      setting_[knob] = static_cast<uint16_t>(value);
      values_[knob] = set_.values_[knob][value];
      if (CanStillHold(depth + 1) && !Descend(depth + 1, seen, first)) return false;
    }
    return true;
  }
  bool CanStillHold(size_t assigned) const {
    return std::all_of(set_.conditions_.begin(), set_.conditions_.end(),
                       [&](const Condition& c) { return c.ready != assigned || Holds(c.holds, values_); });
  }

  const LegalSet& set_;
  size_t most_steps_;
  size_t steps_ = 0;
  std::vector<uint16_t> setting_;
  std::vector<Value> values_;
};

// A knob comes after those that its `if` names; among those that can come next the one that brings conditions nearest
// to being complete, then the one with the fewest values.
Result<std::vector<size_t>> LegalSet::OrderOf(const Template& family) {
  const std::vector<std::string> names = NamesOf(family);
  std::vector<std::vector<size_t>> needs, conditions;
  for (const Knob& knob : family.knobs)
    needs.push_back(knob.only_if ? PlacesOf(*knob.only_if, names) : std::vector<size_t>());
  for (const Expression& when : family.when) conditions.push_back(PlacesOf(when, names));
  std::vector<size_t> order;
  std::vector<bool> assigned(names.size(), false);
  const auto missing = [&](const std::vector<size_t>& places) {
    return std::count_if(places.begin(), places.end(), [&](size_t place) { return !assigned[place]; });
  };
  while (order.size() < names.size()) {
    std::optional<size_t> next;
    double most = 0;
    for (size_t k = 0; k < names.size(); ++k) {
      if (assigned[k] || missing(needs[k]) > 0) continue;
      double worth = 1.0 / (1.0 + static_cast<double>(family.knobs[k].values.size()));
      for (const std::vector<size_t>& places : conditions) {
        if (std::find(places.begin(), places.end(), k) != places.end())
          worth += 1.0 / static_cast<double>(missing(places));
      }
      if (!next || worth > most) next = k, most = worth;
    }
    if (!next) {
      std::vector<std::string> left;
      for (size_t k = 0; k < names.size(); ++k) {
        if (!assigned[k]) left.push_back(names[k]);
      }
      return Error{ErrorCode::kInvalidInput, "the `if`s of the knobs " + Join(left, ", ") +
                                                 " depend on each other; let one of them stand without a condition"};
    }
    assigned[*next] = true;
    order.push_back(*next);
  }
  return order;
}

Result<LegalSet> LegalSet::Of(const Template& family, size_t most) {
  ASSAY_TRY(std::optional<LegalSet> found, Find(family, most));
  if (!found) return Error{ErrorCode::kInvalidInput, Culprits(family)};
  return *std::move(found);
}

Result<std::optional<LegalSet>> LegalSet::Find(const Template& family, size_t most) {
  std::optional<LegalSet> made(std::in_place);
  LegalSet& set = *made;
  set.knobs_ = family.knobs.size();
  const std::vector<std::string> names = NamesOf(family);
  for (const Knob& knob : family.knobs) {
    std::vector<Value>& values = set.values_.emplace_back();
    for (const std::string& text : knob.values) values.push_back(KnobValue(knob, text));
    set.defaults_.push_back(DefaultIndex(knob));
    std::optional<BoundExpression>& on = set.switch_on_.emplace_back();
    if (knob.only_if) {
      ASSAY_TRY(on, knob.only_if->Bind(names));
    }
  }
  ASSAY_TRY(set.order_, OrderOf(family));
  for (const Expression& when : family.when) {
    Condition condition{.holds = {}, .text = when.text()};
    ASSAY_TRY(condition.holds, when.Bind(names));
    for (const size_t place : PlacesOf(when, names)) {
      const auto at = std::find(set.order_.begin(), set.order_.end(), place);
      condition.ready = std::max(condition.ready, static_cast<size_t>(at - set.order_.begin()) + 1);
    }
    // Without a knob it holds everywhere or nowhere; the first knob finds out.
    condition.ready = std::max<size_t>(condition.ready, 1);
    set.conditions_.push_back(std::move(condition));
  }
  if (set.knobs_ == 0) {
    set.enumerated_ = true;
    return made;
  }
  const auto from_zero = [](size_t) { return size_t{0}; };
  size_t found = 0;
  const bool whole = Walk::Through(
      set, kMostSteps,
      [&](std::span<const uint16_t> setting) {
        if (++found > most) return false;
        set.rows_.insert(set.rows_.end(), setting.begin(), setting.end());
        return true;
      },
      from_zero);
  if (whole && found == 0) return std::optional<LegalSet>();
  set.enumerated_ = whole && found <= most;
  if (!set.enumerated_) {
    set.rows_ = {};
    return made;
  }
  std::vector<size_t> sorted(found);
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::sort(sorted.begin(), sorted.end(),
            [&](size_t a, size_t b) { return std::ranges::lexicographical_compare(set.At(a), set.At(b)); });
  std::vector<uint16_t> rows;
  rows.reserve(set.rows_.size());
  for (const size_t row : sorted) rows.insert(rows.end(), set.At(row).begin(), set.At(row).end());
  set.rows_ = std::move(rows);
  return made;
}

// The fewest conditions that already exclude everything: what can be left out without a setting becoming legal is.
std::string LegalSet::Culprits(const Template& family) {
  Template left = family;
  const auto empty = [](const Template& without) {
    const auto found = Find(without, 0);  // one setting is enough to know
    return found.ok() && !found.value();
  };
  if (family.when.empty()) return "no legal point is left";
  for (size_t i = 0; i < left.when.size();) {
    Template without = left;
    without.when.erase(without.when.begin() + static_cast<ptrdiff_t>(i));
    if (!without.when.empty() && empty(without)) {
      left = std::move(without);
    } else {
      ++i;
    }
  }
  std::vector<std::string> texts;
  for (const Expression& when : left.when) texts.push_back("\"" + when.text() + "\"");
  if (texts.size() == 1) return "no legal point is left: " + texts[0] + " holds nowhere";
  const std::string last = texts.back();
  texts.pop_back();
  return "no legal point is left: " + Join(texts, " and ") + " contradict" + (texts.size() == 1 ? "s " : " ") + last;
}

std::span<const uint16_t> LegalSet::At(size_t index) const {
  return std::span<const uint16_t>(rows_).subspan(index * knobs_, knobs_);
}

bool LegalSet::Contains(std::span<const uint16_t> setting) const {
  ASSAY_CHECK(setting.size() == knobs_);
  if (!enumerated_) return AllHold(setting);
  size_t low = 0, high = size();
  if (knobs_ == 0) return true;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (std::ranges::lexicographical_compare(At(middle), setting)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size() && std::ranges::equal(At(low), setting);
}

std::vector<Value> LegalSet::ValuesOf(std::span<const uint16_t> setting) const {
  std::vector<Value> values(knobs_);
  for (size_t k = 0; k < knobs_; ++k) values[k] = values_[k][setting[k]];
  return values;
}

bool LegalSet::AllHold(std::span<const uint16_t> setting) const {
  const std::vector<Value> values = ValuesOf(setting);
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const Condition& condition) { return Holds(condition.holds, values); });
}

void LegalSet::Normalise(std::span<uint16_t> setting) const {
  std::vector<Value> values = ValuesOf(setting);
  // In the order of assignment: what a knob's `if` names is settled before it.
  for (const size_t knob : order_) {
    if (!switch_on_[knob] || Holds(*switch_on_[knob], values)) continue;
    setting[knob] = defaults_[knob];
    values[knob] = values_[knob][defaults_[knob]];
  }
}

std::vector<bool> LegalSet::SwitchedOn(std::span<const uint16_t> setting) const {
  const std::vector<Value> values = ValuesOf(setting);
  std::vector<bool> on;
  for (const auto& condition : switch_on_) on.push_back(!condition || Holds(*condition, values));
  return on;
}

std::optional<std::vector<uint16_t>> LegalSet::Random(Stream& stream) const {
  if (enumerated_) {
    if (knobs_ == 0) return std::vector<uint16_t>();
    const std::span<const uint16_t> row = At(stream.Below(size()));
    return std::vector<uint16_t>(row.begin(), row.end());
  }
  std::vector<uint16_t> setting(knobs_);
  for (int draw = 0; draw < kDraws; ++draw) {
    for (size_t k = 0; k < knobs_; ++k) setting[k] = static_cast<uint16_t>(stream.Below(values_[k].size()));
    Normalise(setting);
    if (AllHold(setting)) return setting;
  }
  std::optional<std::vector<uint16_t>> found;
  Walk::Through(
      *this, kMostStepsOfADraw,
      [&](std::span<const uint16_t> legal) {
        found.emplace(legal.begin(), legal.end());
        return false;
      },
      [&](size_t count) { return stream.Below(count); });
  return found;
}

}  // namespace assay
