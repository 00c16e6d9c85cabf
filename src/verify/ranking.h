// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "verify/compare.h"

// Class index: positions in a list of keys that the reference publishes (argmax, top-k, argsort).
// What is judged are the keys at the candidate's own indices; where keys are equal within their
// bounds nobody can say which comes first.
namespace assay {

struct Key {
  double value = 0;
  double bound = 0;    // 0: nothing to err by; infinite: no information
  bool exact = false;  // every order computes it exactly
};

enum class TiePolicy { kLowest, kHighest, kAny };

struct RankRule {
  bool descending = true;
  TiePolicy tie = TiePolicy::kLowest;
};
RankRule RankRuleOf(const Compare& compare);

// The best `count` indices by value alone, equal ones as the rule says (any: the lowest).
std::vector<double> RankedIndices(const RankRule& rule, std::span<const Key> keys, size_t count);

struct RankVerdict {
  ElementResult result = ElementResult::kRight;
  // Of the worst pair: how far the keys are in the wrong order, and how far their bounds allow.
  double error = 0, limit = 0, ratio = 0;
  size_t position = 0;  // in the row
  double better = 0;    // the index that belonged there, or that it should have differed from
  std::string rule;     // "range", "an index twice", "order of keys", "a better key left out", "order of equal keys"
};

// One row of indices, best first.  Keys without information exclude the row.
RankVerdict JudgeRanking(const RankRule& rule, std::span<const Key> keys, std::span<const double> indices);

}  // namespace assay
