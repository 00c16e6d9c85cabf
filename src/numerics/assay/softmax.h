// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a weighted mean with softmax weights collects before any arithmetic decides its order.

#include <cstdint>
#include <string>
#include <vector>

#include "args.h"

namespace assay {

// Of a row x: its maximum, the sum of exp(x_i - maximum), and maximum + log(total).
template <class Real>
struct ExpSum {
  Real top{}, total{}, log{};
};

template <class Real>
class SoftmaxStore {
 public:
  SoftmaxStore(int64_t width, int64_t expected) : width_(width) {
    logits_.reserve(static_cast<size_t>(expected));
    rows_.reserve(static_cast<size_t>(expected));
  }

  void Add(const Real& logit, const RawRow& row) {
    CheckWidth(row.count);
    logits_.push_back(logit);
    rows_.push_back(row);
  }

  void Add(const Real& logit, const std::vector<Real>& values) {
    CheckWidth(static_cast<int64_t>(values.size()));
    logits_.push_back(logit);
    RawRow row;
    row.data = nullptr;
    row.offset = static_cast<int64_t>(computed_.size());
    row.count = width_;
    rows_.push_back(row);
    computed_.insert(computed_.end(), values.begin(), values.end());
  }

  int64_t width() const { return width_; }
  int64_t count() const { return static_cast<int64_t>(logits_.size()); }
  const Real& logit(int64_t j) const { return logits_[static_cast<size_t>(j)]; }
  const RawRow& row(int64_t j) const { return rows_[static_cast<size_t>(j)]; }
  // Whether every value is read straight from a tensor, so that whole rows can be worked on.
  bool raw() const { return computed_.empty(); }

  Real value(int64_t j, int64_t d) const {
    const RawRow& row = rows_[static_cast<size_t>(j)];
    return row.data != nullptr ? Ops<Real>::Element(row, d) : computed_[static_cast<size_t>(row.offset + d)];
  }

 private:
  void CheckWidth(int64_t given) const {
    if (given != width_) FailWidth(given);
  }
  [[noreturn]] ASSAY_COLD void FailWidth(int64_t given) const {
    FailReference("SoftmaxMean was made for rows of " + std::to_string(width_) + " elements and is given one of " +
                  std::to_string(given));
  }

  int64_t width_;
  std::vector<Real> logits_;
  std::vector<RawRow> rows_;
  std::vector<Real> computed_;
};

}  // namespace assay
