// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "record/attempt.h"
#include "record/candidate.h"

namespace assay {

// One point of the search: a template, a value for each of its knobs, an option for each flag group.
// Knobs that a condition switches off hold their default, so that equal points compare equal.
struct Point {
  size_t family = 0;
  std::vector<size_t> knobs;  // index into the knob's values
  std::vector<size_t> flags;  // index into the group's options
  bool operator==(const Point&) const = default;
};

// The templates of one contract as a space.  Every point that leaves this class is legal.
class Space {
 public:
  // Fails when a template has no legal point at all.
  static Result<Space> Make(std::vector<Template> templates);

  size_t families() const { return templates_.size(); }
  const Template& family(size_t index) const { return templates_[index]; }
  // Nothing when the defaults break the template's own conditions.
  std::optional<Point> Defaults(size_t family) const;
  // Uniform over the legal points of a family (by rejection); nothing when a great many draws were illegal.
  std::optional<Point> Random(size_t family, Stream& stream) const;
  std::optional<Point> Random(Stream& stream) const;
  // `changes` dimensions of `from` take another value; with `step`, ordered knobs go to a neighbour.
  std::optional<Point> Mutate(const Point& from, int changes, bool step, Stream& stream) const;

  bool Legal(const Point& point) const;
  Candidate ToCandidate(const Point& point) const;
  // The point of a candidate of these templates; nothing for a stranger.
  std::optional<Point> PointOf(const Candidate& candidate) const;

 private:
  explicit Space(std::vector<Template> templates) : templates_(std::move(templates)) {}
  Point Normalised(Point point) const;
  std::vector<Template> templates_;
};

}  // namespace assay
