// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/seams.h"
#include "search/forest.h"
#include "search/space.h"

namespace assay {

// How an attempt ended, as far as it teaches where to go.
enum class Fate {
  kMeasured,
  kDoesNotRun,  // does not build, load or end by itself: a matter of resources, smooth in the knobs
  kWrong,       // runs, and the gate refused its answers or manners: a matter of logic
  kUnknown,     // nothing can be said: a twin of something unknown, or our own failure
};

struct Observation {
  int64_t ordinal = 0;
  std::optional<Point> point;  // none: a stranger's candidate
  Fate fate = Fate::kUnknown;
  double log_seconds = 0;  // of a measured one, of the first workload
  std::string proposer;
  std::vector<int64_t> parents;
};

// What a strategy knows: all attempts in order of proposal, and which of them lead.  A twin has its elder's fate.
class Knowledge {
 public:
  Knowledge(const Space& space, const Standing& standing);

  const std::vector<Observation>& all() const { return all_; }
  // Measured ones with a point, the fastest first; equal ones in order of proposal.
  const std::vector<const Observation*>& ranked() const { return ranked_; }
  // Observations since the last that was faster than all before it.
  int Stagnation() const { return stagnation_; }

 private:
  std::vector<Observation> all_;
  std::vector<const Observation*> ranked_;
  int stagnation_ = 0;
};

// The points of a space as rows of a table: the family, then every dimension by its name, which templates share.
class Features {
 public:
  explicit Features(const Space& space);
  const std::vector<Scale>& scales() const { return scales_; }
  std::vector<double> Row(const Point& point) const;

 private:
  std::vector<Scale> scales_;
  std::vector<std::vector<size_t>> column_;               // by family and dimension
  std::vector<std::vector<std::vector<double>>> number_;  // by family, dimension and value
};

}  // namespace assay
