// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace assay {

// Shapes, costs, `require`, knob conditions: one small language (grammar in docs/contract.md).
// Integers are 64 bit and checked; `/` is real; `//` and `%` round down.
struct Value {
  std::variant<int64_t, double, bool, std::string> data;
  bool operator==(const Value&) const = default;
};

// Gives the value of a name, or nothing when the name is unknown.
using Names = std::function<const Value*(std::string_view)>;

class BoundExpression;

// A parsed expression; cheap to copy.
class Expression {
 public:
  // Depth at most 64, length at most 4 kB.  The error says column and remedy, without a file name.
  static Result<Expression> Parse(std::string_view text);
  Expression() = default;  // the empty expression; evaluating it is a broken promise
  bool empty() const { return root_ == nullptr; }

  Result<Value> Evaluate(const Names& names) const;
  // Must come out whole (a real that is whole counts).
  Result<int64_t> EvaluateInteger(const Names& names) const;
  Result<double> EvaluateNumber(const Names& names) const;
  Result<bool> EvaluateCondition(const Names& names) const;

  const std::string& text() const { return text_; }
  // Every name that occurs, sorted, once.
  std::vector<std::string> NamesUsed() const;

  // For evaluating many points: names are resolved once, to their position in `names`.
  Result<BoundExpression> Bind(std::span<const std::string> names) const;

  struct Node;

 private:
  friend class BoundExpression;
  std::string text_;
  std::shared_ptr<const Node> root_;
};

// An expression over positions; about 50 ns a point where a lookup by name takes 500.
class BoundExpression {
 public:
  Result<Value> Evaluate(std::span<const Value> values) const;
  Result<bool> EvaluateCondition(std::span<const Value> values) const;
  Result<double> EvaluateNumber(std::span<const Value> values) const;

 private:
  friend class Expression;
  Expression expression_;
  std::vector<int> positions_;  // of the expression's names among the values
};

}  // namespace assay
