// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "record/attempt.h"
#include "record/candidate.h"
#include "search/legal_set.h"

namespace assay {

// One point of the search: a template, and in each of its dimensions the index of a value.  The knobs come first, the
// flag groups behind them.  Knobs that a condition switches off hold their default, so that equal points compare equal.
struct Point {
  size_t family = 0;
  std::vector<uint16_t> at;
  bool operator==(const Point&) const = default;
};

// One knob or flag group of a family, as a strategy sees it.
struct Dimension {
  std::string name;
  size_t count = 1;      // values
  bool ordered = false;  // a move of one step goes to a neighbour
};

// Dimensions in which two points of one family differ.
int Distance(const Point& a, const Point& b);

// The templates of one contract as a space.  Every point that leaves this class is legal.
class Space {
 public:
  // Fails when a template has no legal point at all; the error names the conditions that contradict each other.
  static Result<Space> Make(std::vector<Template> templates);

  size_t families() const { return families_.size(); }
  const Template& family(size_t index) const { return families_[index].source; }
  std::span<const Dimension> dimensions(size_t family) const { return families_[family].dimensions; }
  // Legal points; nothing where a family is too large to be enumerated.
  std::optional<uint64_t> size() const;
  std::optional<uint64_t> size(size_t family) const;

  // Nothing when the defaults break the template's own conditions.
  std::optional<Point> Defaults(size_t family) const;
  // Uniform over the legal points of a family; where they are not enumerated, by rejection, and where that fails by
  // values drawn one after another such that a condition can still hold.
  std::optional<Point> Random(size_t family, Stream& stream) const;
  // The family first, then a point of it.
  std::optional<Point> Random(Stream& stream) const;
  // Of an enumerated family, in lexicographic order.
  Point At(size_t family, uint64_t index) const;
  // `changes` dimensions of `from` take another value; with `step`, ordered ones go to a neighbour.
  std::optional<Point> Mutate(const Point& from, int changes, bool step, Stream& stream) const;
  // Each dimension from one of two points of a family, at random; nothing when no legal point came that is neither.
  std::optional<Point> Cross(const Point& a, const Point& b, Stream& stream) const;
  // Every legal point that differs from `from` in the value of one dimension, and in what that switches on or off.
  std::vector<Point> Neighbours(const Point& from) const;
  // `point` with one value changed, and what that switches off at its default; nothing when that is not legal.
  std::optional<Point> With(const Point& point, size_t dimension, size_t value) const;

  bool Legal(const Point& point) const;
  Candidate ToCandidate(const Point& point) const;
  // The point of a candidate of these templates; nothing for a stranger.
  std::optional<Point> PointOf(const Candidate& candidate) const;

 private:
  // The point with switched-off knobs at their default; nothing when it is not legal.
  std::optional<Point> Settled(Point point) const;
  struct Family {
    Template source;
    std::vector<Dimension> dimensions;
    LegalSet legal;        // of the knobs
    uint64_t choices = 1;  // of the flag groups together
  };
  Space() = default;
  std::vector<Family> families_;
};

}  // namespace assay
