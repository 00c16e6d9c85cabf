// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "contract/shape.h"

namespace assay {

// Strides above dense by `pads`; a name without a pad is dense.
Result<Shape> PaddedShape(const Contract& contract, const std::map<std::string, int64_t>& axes,
                          const std::map<std::string, int64_t>& pads);
// Only that each axis has one of its sizes.
Status CheckAxes(const Contract& contract, const Shape& shape);

// Looks for sizes of the axes under which conditions hold: backtracking over candidate sizes, each
// condition tried as soon as its last axis has a size, and a budget that bounds the whole search.
class ShapeSearch {
 public:
  // Conditions over strides are left to the final check of a whole shape.
  explicit ShapeSearch(const Contract& contract);

  using Sizes = std::vector<int64_t>;     // one per axis, in the contract's order
  using Candidates = std::vector<Sizes>;  // tried in this order

  struct Outcome {
    std::optional<Sizes> sizes;
    bool complete = true;  // every combination was covered
  };
  // `skip[i]` leaves condition i out.  `order` is a permutation of the axes (default: the contract's): the
  // later ones adapt to the earlier ones.
  Outcome Find(const Candidates& candidates, int64_t budget, const std::vector<bool>& skip = {},
               const std::vector<size_t>& order = {}) const;

  // Every size of an axis where there are few, else those that conditions tend to single out.
  Candidates AllCandidates(size_t most_per_axis) const;
  bool IsWhole(size_t axis, size_t candidates) const;

  size_t conditions() const { return conditions_.size(); }
  const Contract& contract() const { return contract_; }

 private:
  struct Condition {
    BoundExpression bound;
    std::vector<size_t> axes;
    bool over_strides = false;
  };
  struct Walk;
  bool Descend(Walk& walk, size_t depth) const;

  const Contract& contract_;
  std::vector<Condition> conditions_;  // parallel to `require`
};

// The conditions that cannot hold together, by index into `require`; empty when a legal shape exists
// or none could be excluded.  `complete` says whether that was proved or only not found.
struct Contradiction {
  std::vector<size_t> conditions;
  bool complete = true;
};
std::optional<Contradiction> FindContradiction(const Contract& contract);

}  // namespace assay
