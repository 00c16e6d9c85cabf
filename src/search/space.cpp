// SPDX-License-Identifier: Apache-2.0
#include "search/space.h"

#include <algorithm>

#include "base/check.h"

namespace assay {
namespace {

// Tries for a legal change: where a neighbourhood has one, so many find it.
constexpr int kTries = 400;

}  // namespace

int Distance(const Point& a, const Point& b) {
  ASSAY_CHECK(a.at.size() == b.at.size());
  int differing = 0;
  for (size_t d = 0; d < a.at.size(); ++d) differing += a.at[d] != b.at[d] ? 1 : 0;
  return differing;
}

Result<Space> Space::Make(std::vector<Template> templates) {
  if (templates.empty())
    return Error{ErrorCode::kInvalidInput, "the contract has no templates to search; add a file to its templates/"};
  Space space;
  for (Template& source : templates) {
    Family family;
    auto legal = LegalSet::Of(source);
    if (!legal.ok()) {
      return Error{legal.error().code, source.path.string() + ": " + legal.error().message};
    }
    family.legal = std::move(legal).value();
    for (const Knob& knob : source.knobs) family.dimensions.push_back({knob.name, knob.values.size(), knob.integers});
    for (const FlagGroup& group : source.flags) {
      family.dimensions.push_back({"flag " + group.options.front(), group.options.size(), false});
      family.choices *= group.options.size();
    }
    family.source = std::move(source);
    space.families_.push_back(std::move(family));
  }
  return space;
}

std::optional<uint64_t> Space::size(size_t family) const {
  const Family& f = families_[family];
  if (!f.legal.enumerated()) return std::nullopt;
  return f.legal.size() * f.choices;
}

std::optional<uint64_t> Space::size() const {
  uint64_t all = 0;
  for (size_t f = 0; f < families(); ++f) {
    const auto one = size(f);
    if (!one) return std::nullopt;
    all += *one;
  }
  return all;
}

Point Space::At(size_t family, uint64_t index) const {
  const Family& f = families_[family];
  ASSAY_CHECK(f.legal.enumerated() && index < f.legal.size() * f.choices);
  Point point{family, {}};
  const std::span<const uint16_t> knobs = f.legal.At(index / f.choices);
  point.at.assign(knobs.begin(), knobs.end());
  uint64_t choice = index % f.choices;
  for (const FlagGroup& group : f.source.flags) {
    point.at.push_back(static_cast<uint16_t>(choice % group.options.size()));
    choice /= group.options.size();
  }
  return point;
}

bool Space::Legal(const Point& point) const {
  const Family& f = families_[point.family];
  return f.legal.Contains(std::span<const uint16_t>(point.at).first(f.source.knobs.size()));
}

std::optional<Point> Space::Defaults(size_t family) const {
  const Family& f = families_[family];
  Point point{family, f.legal.defaults()};
  point.at.resize(f.dimensions.size(), 0);
  if (!Legal(point)) return std::nullopt;
  return point;
}

std::optional<Point> Space::Settled(Point point) const {
  const Family& f = families_[point.family];
  f.legal.Normalise(std::span<uint16_t>(point.at).first(f.source.knobs.size()));
  if (!Legal(point)) return std::nullopt;
  return point;
}

std::optional<Point> Space::Random(size_t family, Stream& stream) const {
  const Family& f = families_[family];
  auto knobs = f.legal.Random(stream);
  if (!knobs) return std::nullopt;
  Point point{family, *std::move(knobs)};
  for (const FlagGroup& group : f.source.flags)
    point.at.push_back(static_cast<uint16_t>(stream.Below(group.options.size())));
  return point;
}

std::optional<Point> Space::Random(Stream& stream) const { return Random(stream.Below(families()), stream); }

std::optional<Point> Space::With(const Point& point, size_t dimension, size_t value) const {
  Point changed = point;
  changed.at[dimension] = static_cast<uint16_t>(value);
  std::optional<Point> settled = Settled(std::move(changed));
  if (settled == point) return std::nullopt;
  return settled;
}

std::optional<Point> Space::Mutate(const Point& from, int changes, bool step, Stream& stream) const {
  const Family& f = families_[from.family];
  if (f.dimensions.empty()) return std::nullopt;
  for (int draw = 0; draw < kTries; ++draw) {
    Point point = from;
    for (int change = 0; change < changes; ++change) {
      const size_t d = stream.Below(f.dimensions.size());
      const Dimension& dimension = f.dimensions[d];
      uint16_t& index = point.at[d];
      if (step && dimension.ordered && dimension.count > 1) {
        const bool up = index == 0 || (index + size_t{1} < dimension.count && stream.Below(2) == 0);
        index = static_cast<uint16_t>(up ? index + 1 : index - 1);
      } else {
        index = static_cast<uint16_t>(stream.Below(dimension.count));
      }
    }
    const std::optional<Point> settled = Settled(std::move(point));
    if (settled && *settled != from) return settled;
  }
  return std::nullopt;
}

std::optional<Point> Space::Cross(const Point& a, const Point& b, Stream& stream) const {
  ASSAY_CHECK(a.family == b.family);
  for (int draw = 0; draw < kTries; ++draw) {
    Point point = a;
    for (size_t d = 0; d < point.at.size(); ++d) {
      if (stream.Below(2) == 1) point.at[d] = b.at[d];
    }
    const std::optional<Point> settled = Settled(std::move(point));
    if (settled && *settled != a && *settled != b) return settled;
  }
  return std::nullopt;
}

std::vector<Point> Space::Neighbours(const Point& from) const {
  std::vector<Point> found;
  const std::vector<Dimension>& dimensions = families_[from.family].dimensions;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    for (size_t value = 0; value < dimensions[d].count; ++value) {
      if (value == from.at[d]) continue;
      if (auto point = With(from, d, value)) found.push_back(*std::move(point));
    }
  }
  return found;
}

Candidate Space::ToCandidate(const Point& point) const {
  const Family& f = families_[point.family];
  const Template& t = f.source;
  Candidate candidate;
  candidate.language = t.language;
  candidate.template_name = t.name;
  candidate.source = t.source;
  candidate.source_hash = t.source_hash;
  const std::vector<bool> on = f.legal.SwitchedOn(std::span<const uint16_t>(point.at).first(t.knobs.size()));
  for (size_t i = 0; i < t.knobs.size(); ++i) {
    const Knob& knob = t.knobs[i];
    candidate.defaults[knob.name] = knob.default_value;
    if (on[i]) candidate.knobs[knob.name] = knob.values[point.at[i]];
  }
  for (size_t i = 0; i < t.flags.size(); ++i) {
    const std::string& option = t.flags[i].options[point.at[t.knobs.size() + i]];
    if (option != "none") candidate.flags.push_back(option);
  }
  return NamedByContent(std::move(candidate));
}

std::optional<Point> Space::PointOf(const Candidate& candidate) const {
  for (size_t f = 0; f < families(); ++f) {
    const Template& t = family(f);
    if (t.source_hash != candidate.source_hash) continue;
    Point point{f, {}};
    for (const Knob& knob : t.knobs) {
      const auto given = candidate.knobs.find(knob.name);
      const std::string& value = given == candidate.knobs.end() ? knob.default_value : given->second;
      const auto at = std::find(knob.values.begin(), knob.values.end(), value);
      if (at == knob.values.end()) return std::nullopt;
      point.at.push_back(static_cast<uint16_t>(at - knob.values.begin()));
    }
    for (const FlagGroup& group : t.flags) {
      const auto at = std::find_if(group.options.begin(), group.options.end(), [&](const std::string& option) {
        return std::find(candidate.flags.begin(), candidate.flags.end(), option) != candidate.flags.end();
      });
      const auto none = std::find(group.options.begin(), group.options.end(), "none");
      const auto chosen = at != group.options.end() ? at : none;
      if (chosen == group.options.end()) return std::nullopt;
      point.at.push_back(static_cast<uint16_t>(chosen - group.options.begin()));
    }
    return point;
  }
  return std::nullopt;
}

}  // namespace assay
