// SPDX-License-Identifier: Apache-2.0
#include "search/space.h"

#include <algorithm>
#include <charconv>

namespace assay {
namespace {

// Draws before a family counts as (nearly) empty; a space whose legal share is below this wants
// enumeration, which the search over larger spaces brings.
constexpr int kDraws = 20'000;

Value ToValue(const Knob& knob, const std::string& text) {
  if (!knob.integers) return Value{text};
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return Value{number};
}

// The knob values of one point under their names, as expressions see them.
class PointNames {
 public:
  PointNames(const Template& family, const Point& point) {
    values_.reserve(family.knobs.size());
    for (size_t i = 0; i < family.knobs.size(); ++i) {
      values_.emplace_back(family.knobs[i].name, ToValue(family.knobs[i], family.knobs[i].values[point.knobs[i]]));
    }
  }
  const Value* Find(std::string_view name) const {
    for (const auto& [known, value] : values_) {
      if (known == name) return &value;
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<std::string_view, Value>> values_;
};

bool Holds(const Expression& condition, const PointNames& names) {
  const Result<bool> value = condition.EvaluateCondition([&](std::string_view name) { return names.Find(name); });
  // A condition that cannot be evaluated at a point (division by zero) excludes the point.
  return value.ok() && value.value();
}

size_t DefaultIndex(const Knob& knob) {
  const auto at = std::find(knob.values.begin(), knob.values.end(), knob.default_value);
  return at == knob.values.end() ? 0 : static_cast<size_t>(at - knob.values.begin());
}

}  // namespace

Result<Space> Space::Make(std::vector<Template> templates) {
  if (templates.empty())
    return Error{ErrorCode::kInvalidInput, "the contract has no templates to search; add a file to its templates/"};
  Space space(std::move(templates));
  Stream stream(Seed::FromNumber(0).Derive("space"));
  for (size_t f = 0; f < space.families(); ++f) {
    if (!space.Defaults(f) && !space.Random(f, stream)) {
      return Error{ErrorCode::kInvalidInput,
                   space.family(f).path.string() +
                       ": no legal point was found; its assay:when conditions contradict each other"};
    }
  }
  return space;
}

Point Space::Normalised(Point point) const {
  const Template& family = templates_[point.family];
  const PointNames names(family, point);
  for (size_t i = 0; i < family.knobs.size(); ++i) {
    const Knob& knob = family.knobs[i];
    if (knob.only_if && !Holds(*knob.only_if, names)) point.knobs[i] = DefaultIndex(knob);
  }
  return point;
}

bool Space::Legal(const Point& point) const {
  const Template& family = templates_[point.family];
  const PointNames names(family, point);
  return std::all_of(family.when.begin(), family.when.end(),
                     [&](const Expression& when) { return Holds(when, names); });
}

std::optional<Point> Space::Defaults(size_t family) const {
  Point point{family, {}, std::vector<size_t>(templates_[family].flags.size(), 0)};
  for (const Knob& knob : templates_[family].knobs) point.knobs.push_back(DefaultIndex(knob));
  if (!Legal(point)) return std::nullopt;
  return point;
}

std::optional<Point> Space::Random(size_t family, Stream& stream) const {
  const Template& t = templates_[family];
  for (int draw = 0; draw < kDraws; ++draw) {
    Point point{family, {}, {}};
    for (const Knob& knob : t.knobs) point.knobs.push_back(stream.Below(knob.values.size()));
    for (const FlagGroup& group : t.flags) point.flags.push_back(stream.Below(group.options.size()));
    point = Normalised(std::move(point));
    if (Legal(point)) return point;
  }
  return std::nullopt;
}

std::optional<Point> Space::Random(Stream& stream) const { return Random(stream.Below(families()), stream); }

std::optional<Point> Space::Mutate(const Point& from, int changes, bool step, Stream& stream) const {
  const Template& t = templates_[from.family];
  const size_t dimensions = t.knobs.size() + t.flags.size();
  if (dimensions == 0) return std::nullopt;
  for (int draw = 0; draw < kDraws; ++draw) {
    Point point = from;
    for (int change = 0; change < changes; ++change) {
      const size_t d = stream.Below(dimensions);
      const bool is_knob = d < t.knobs.size();
      size_t& index = is_knob ? point.knobs[d] : point.flags[d - t.knobs.size()];
      const size_t count = is_knob ? t.knobs[d].values.size() : t.flags[d - t.knobs.size()].options.size();
      if (is_knob && step && t.knobs[d].integers && count > 1) {
        const bool up = index == 0 || (index + 1 < count && stream.Below(2) == 0);
        index = up ? index + 1 : index - 1;
      } else {
        index = stream.Below(count);
      }
    }
    point = Normalised(std::move(point));
    if (point != from && Legal(point)) return point;
  }
  return std::nullopt;
}

Candidate Space::ToCandidate(const Point& point) const {
  const Template& t = templates_[point.family];
  const PointNames names(t, point);
  Candidate candidate;
  candidate.language = t.language;
  candidate.template_name = t.name;
  candidate.source = t.source;
  for (size_t i = 0; i < t.knobs.size(); ++i) {
    const Knob& knob = t.knobs[i];
    candidate.defaults[knob.name] = knob.default_value;
    if (!knob.only_if || Holds(*knob.only_if, names)) candidate.knobs[knob.name] = knob.values[point.knobs[i]];
  }
  for (size_t i = 0; i < t.flags.size(); ++i) {
    const std::string& option = t.flags[i].options[point.flags[i]];
    if (option != "none") candidate.flags.push_back(option);
  }
  return NamedByContent(std::move(candidate));
}

std::optional<Point> Space::PointOf(const Candidate& candidate) const {
  for (size_t f = 0; f < families(); ++f) {
    const Template& t = templates_[f];
    if (t.source_hash != candidate.source_hash) continue;
    Point point{f, {}, {}};
    for (const Knob& knob : t.knobs) {
      const auto given = candidate.knobs.find(knob.name);
      const std::string& value = given == candidate.knobs.end() ? knob.default_value : given->second;
      const auto at = std::find(knob.values.begin(), knob.values.end(), value);
      if (at == knob.values.end()) return std::nullopt;
      point.knobs.push_back(static_cast<size_t>(at - knob.values.begin()));
    }
    for (const FlagGroup& group : t.flags) {
      const auto at = std::find_if(group.options.begin(), group.options.end(), [&](const std::string& option) {
        return std::find(candidate.flags.begin(), candidate.flags.end(), option) != candidate.flags.end();
      });
      const auto none = std::find(group.options.begin(), group.options.end(), "none");
      const auto chosen = at != group.options.end() ? at : none;
      if (chosen == group.options.end()) return std::nullopt;
      point.flags.push_back(static_cast<size_t>(chosen - group.options.begin()));
    }
    return point;
  }
  return std::nullopt;
}

}  // namespace assay
