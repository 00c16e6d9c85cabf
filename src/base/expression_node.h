// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expression.h"

namespace assay {

// The tree of one expression.  Chains (`a + b - c`, `a <= b < c`) are one node with many operands,
// so that the tree is never deeper than what the parser counted.
struct Expression::Node {
  enum class Op : uint8_t {
    kInteger,
    kReal,
    kText,
    kName,
    kOr,
    kAnd,
    kNot,
    kNegate,
    kChain,  // links[i] stands between operands i and i + 1: + - or * / // %
    kPower,
    kCompare,  // links[i] is the comparison between operands i and i + 1
    kIn,
    kNotIn,
    kMin,
    kMax,
    kAbs,
    kCeilDiv,
    kLog2,
    kSqrt,
  };
  enum class Link : uint8_t {
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kFloorDivide,
    kModulo,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kNotEqual,
  };

  Op op = Op::kInteger;
  int64_t integer = 0;  // kInteger: the value; kName: position in `names` of the root
  double real = 0;
  std::string text;
  std::vector<Link> links;
  std::vector<Node> operands;
  std::vector<std::string> names;  // root only: in order of appearance
};

}  // namespace assay
