// SPDX-License-Identifier: Apache-2.0
#include "search/forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace assay {

class Forest::Grower {
 public:
  Grower(std::span<const Scale> scales, const std::vector<std::vector<double>>& rows, std::span<const double> targets,
         size_t leaf, Stream& stream)
      : scales_(scales), rows_(rows), targets_(targets), leaf_(leaf), stream_(stream) {}

  std::vector<Node> Grow() {
    std::vector<uint32_t> all(rows_.size());
    std::iota(all.begin(), all.end(), uint32_t{0});
    nodes_.emplace_back();
    Split(0, all);
    return std::move(nodes_);
  }

 private:
  struct Cut {
    int feature = -1;
    double split = 0;
    double gain = 0;
  };

  bool Left(uint32_t row, const Cut& cut) const {
    const double value = rows_[row][static_cast<size_t>(cut.feature)];
    return scales_[static_cast<size_t>(cut.feature)] == Scale::kWords ? value == cut.split : value < cut.split;
  }

  // What a split takes off the sum of squares, but for what all splits have in common.
  double Gain(std::span<const uint32_t> rows, const Cut& cut) const {
    double left = 0, right = 0;
    size_t lefts = 0;
    for (const uint32_t row : rows) {
      if (Left(row, cut)) {
        left += targets_[row];
        ++lefts;
      } else {
        right += targets_[row];
      }
    }
    const size_t rights = rows.size() - lefts;
    if (lefts == 0 || rights == 0) return -1;
    return left * left / static_cast<double>(lefts) + right * right / static_cast<double>(rights);
  }

  Cut Draw(std::span<const uint32_t> rows, size_t feature) {
    const auto value = [&](uint32_t row) { return rows_[row][feature]; };
    double least = value(rows.front()), most = least;
    for (const uint32_t row : rows) {
      least = std::min(least, value(row));
      most = std::max(most, value(row));
    }
    // A constant feature draws nothing, so that it changes nothing.
    if (!(least < most)) return {};
    Cut cut{.feature = static_cast<int>(feature), .split = 0, .gain = 0};
    // Above the least and up to the most, or one side would be empty.
    cut.split = scales_[feature] == Scale::kWords ? value(rows[stream_.Below(rows.size())])
                                                  : most - stream_.Unit() * (most - least);
    cut.gain = Gain(rows, cut);
    return cut;
  }

  void Split(size_t node, std::span<uint32_t> rows) {
    double sum = 0;
    for (const uint32_t row : rows) sum += targets_[row];
    nodes_[node].mean = sum / static_cast<double>(rows.size());
    if (rows.size() < 2 * leaf_) return;
    Cut best;
    best.gain = sum * sum / static_cast<double>(rows.size()) * (1 + 1e-12);  // a split that separates nothing is none
    for (size_t feature = 0; feature < scales_.size(); ++feature) {
      const Cut cut = Draw(rows, feature);
      if (cut.feature >= 0 && cut.gain > best.gain) best = cut;
    }
    if (best.feature < 0) return;
    const auto middle = std::stable_partition(rows.begin(), rows.end(), [&](uint32_t row) { return Left(row, best); });
    const auto lefts = static_cast<size_t>(middle - rows.begin());
    const size_t left = nodes_.size();
    nodes_.resize(left + 2);
    nodes_[node].feature = best.feature;
    nodes_[node].words = scales_[static_cast<size_t>(best.feature)] == Scale::kWords;
    nodes_[node].split = best.split;
    nodes_[node].left = static_cast<uint32_t>(left);
    Split(left, rows.first(lefts));
    Split(left + 1, rows.subspan(lefts));
  }

  std::span<const Scale> scales_;
  const std::vector<std::vector<double>>& rows_;
  std::span<const double> targets_;
  size_t leaf_;
  Stream& stream_;
  std::vector<Node> nodes_;
};

Forest Forest::Fit(std::span<const Scale> scales, const std::vector<std::vector<double>>& rows,
                   std::span<const double> targets, const Options& options, Stream& stream) {
  ASSAY_CHECK(!rows.empty() && rows.size() == targets.size());
  Forest forest;
  for (int tree = 0; tree < options.trees; ++tree)
    forest.trees_.push_back(Grower(scales, rows, targets, options.leaf, stream).Grow());
  return forest;
}

Prediction Forest::At(std::span<const double> row) const {
  double sum = 0, squares = 0;
  for (const std::vector<Node>& tree : trees_) {
    const Node* node = tree.data();
    while (node->feature >= 0) {
      const double value = row[static_cast<size_t>(node->feature)];
      const bool left = node->words ? value == node->split : value < node->split;
      node = &tree[node->left + (left ? 0 : 1)];
    }
    sum += node->mean;
    squares += node->mean * node->mean;
  }
  const auto trees = static_cast<double>(trees_.size());
  const double mean = sum / trees;
  return {mean, std::sqrt(std::max(0.0, squares / trees - mean * mean))};
}

}  // namespace assay
