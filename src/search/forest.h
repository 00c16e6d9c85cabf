// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace assay {

// How one feature of a table may be split.
enum class Scale {
  kOrdered,  // by a threshold
  kWords,    // by one value against all others
};

struct Prediction {
  double mean = 0;
  double spread = 0;  // standard deviation between trees
};

// Extremely randomised trees (Geurts, Ernst, Wehenkel 2006): at each node one random split for every feature, the one
// that takes most of the variance.  Deterministic for a stream; sums are made in the order of the rows.
class Forest {
 public:
  struct Options {
    int trees = 25;
    size_t leaf = 2;  // rows; a node with fewer than twice as many is a leaf
  };
  // `rows`: one value per feature.  As many targets as rows, at least one.
  static Forest Fit(std::span<const Scale> scales, const std::vector<std::vector<double>>& rows,
                    std::span<const double> targets, const Options& options, Stream& stream);
  Prediction At(std::span<const double> row) const;

 private:
  struct Node {
    int feature = -1;  // -1: a leaf
    bool words = false;
    double split = 0;   // ordered: below it to the left; words: equal to it to the left
    double mean = 0;    // of a leaf
    uint32_t left = 0;  // its sibling comes right behind it
  };
  class Grower;
  std::vector<std::vector<Node>> trees_;
};

}  // namespace assay
