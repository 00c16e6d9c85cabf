// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/expression.h"
#include "base/expression_node.h"

namespace assay {
namespace {

using Node = Expression::Node;
using Op = Node::Op;
using Link = Node::Link;

// A Value that costs nothing to copy: text stays where it is.  Knob spaces are enumerated point by
// point, and most of a point's time would otherwise go into strings that nobody reads.
struct Cell {
  enum class Kind : uint8_t { kInteger, kReal, kBool, kText };
  Kind kind = Kind::kInteger;
  union {
    int64_t integer = 0;
    double real;
    bool truth;
    const std::string* text;
  };

  static Cell Integer(int64_t value) { return Cell(value); }
  static Cell Real(double value) {
    Cell cell(0);
    cell.kind = Kind::kReal;
    cell.real = value;
    return cell;
  }
  static Cell Bool(bool value) {
    Cell cell(0);
    cell.kind = Kind::kBool;
    cell.truth = value;
    return cell;
  }
  static Cell Text(const std::string* value) {
    Cell cell(0);
    cell.kind = Kind::kText;
    cell.text = value;
    return cell;
  }
  Cell() = default;
  explicit Cell(int64_t value) : integer(value) {}

  bool is_number() const { return kind == Kind::kInteger || kind == Kind::kReal; }
  double number() const { return kind == Kind::kInteger ? static_cast<double>(integer) : real; }
};

Cell FromValue(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value.data)) return Cell::Integer(*integer);
  if (const auto* real = std::get_if<double>(&value.data)) return Cell::Real(*real);
  if (const auto* truth = std::get_if<bool>(&value.data)) return Cell::Bool(*truth);
  return Cell::Text(&std::get<std::string>(value.data));
}

Value ToValue(const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::kInteger:
      return {cell.integer};
    case Cell::Kind::kReal:
      return {cell.real};
    case Cell::Kind::kBool:
      return {cell.truth};
    case Cell::Kind::kText:
      return {*cell.text};
  }
  return {};
}

std::string Show(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value.data)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value.data)) return fmt::format("{:g}", *real);
  if (const auto* truth = std::get_if<bool>(&value.data)) return *truth ? "true" : "false";
  return "'" + std::get<std::string>(value.data) + "'";
}

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

// Of the sign of b.  The quotient times b may lie beyond 64 bits, the remainder never does; -1 is apart,
// since the processor faults at the smallest number over it.
int64_t FloorRemainder(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && ((remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

// Long double holds every int64 and every double, so the comparison is exact.
template <typename Compare>
bool Ordered(const Cell& a, const Cell& b, Compare compare) {
  if (a.kind == Cell::Kind::kInteger && b.kind == Cell::Kind::kInteger) return compare(a.integer, b.integer);
  const auto wide = [](const Cell& cell) {
    return cell.kind == Cell::Kind::kInteger ? static_cast<long double>(cell.integer)
                                             : static_cast<long double>(cell.real);
  };
  return compare(wide(a), wide(b));
}

// `Lookup` maps a position among the expression's names to a value, or to nullptr.
template <typename Lookup>
class Evaluator {
 public:
  explicit Evaluator(const Lookup& lookup) : lookup_(lookup) {}
  const std::string& problem() const { return problem_; }

  bool Run(const Node& node, Cell& out) {
    switch (node.op) {
      case Op::kInteger:
        out = Cell::Integer(node.integer);
        return true;
      case Op::kReal:
        out = Cell::Real(node.real);
        return true;
      case Op::kText:
        out = Cell::Text(&node.text);
        return true;
      case Op::kName:
        return Name(node, out);
      case Op::kOr:
        return Logical(node, true, out);
      case Op::kAnd:
        return Logical(node, false, out);
      case Op::kNot: {
        if (!Condition(node.operands[0], out)) return false;
        out.truth = !out.truth;
        return true;
      }
      case Op::kNegate:
        return Number(node.operands[0], out) && Arithmetic(Link::kSubtract, Cell::Integer(0), out, out);
      case Op::kChain:
        return Chain(node, out);
      case Op::kPower: {
        Cell base;
        return Number(node.operands[0], base) && Number(node.operands[1], out) && Power(base, out, out);
      }
      case Op::kCompare:
        return Compare(node, out);
      case Op::kIn:
      case Op::kNotIn:
        return In(node, out);
      case Op::kMin:
      case Op::kMax:
        return Extreme(node, out);
      default:
        return Call(node, out);
    }
  }

 private:
  bool Fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool Name(const Node& node, Cell& out) {
    const Value* value = lookup_(static_cast<size_t>(node.integer));
    if (value == nullptr) return Fail(fmt::format("{} is not known here; use a name that is declared", node.text));
    out = FromValue(*value);
    return true;
  }

  bool Number(const Node& node, Cell& out) {
    if (!Run(node, out)) return false;
    if (out.is_number()) return true;
    return Fail(fmt::format("{} is not a number", Show(ToValue(out))));
  }

  bool Condition(const Node& node, Cell& out) {
    if (!Run(node, out)) return false;
    if (out.kind == Cell::Kind::kBool) return true;
    return Fail(fmt::format("{} is not a condition; compare it, for example with != 0", Show(ToValue(out))));
  }

  bool Logical(const Node& node, bool stop_at, Cell& out) {
    for (const Node& operand : node.operands) {
      if (!Condition(operand, out)) return false;
      if (out.truth == stop_at) return true;
    }
    return true;
  }

  bool Chain(const Node& node, Cell& out) {
    if (!Number(node.operands[0], out)) return false;
    for (size_t i = 0; i < node.links.size(); ++i) {
      Cell right;
      if (!Number(node.operands[i + 1], right) || !Arithmetic(node.links[i], out, right, out)) return false;
    }
    return true;
  }

  bool Arithmetic(Link link, const Cell a, const Cell b, Cell& out) {
    if (link >= Link::kDivide && b.number() == 0) return Fail("division by zero");
    if (link == Link::kDivide) return Divide(a, b, out);
    if (a.kind == Cell::Kind::kInteger && b.kind == Cell::Kind::kInteger)
      return IntegerArithmetic(link, a.integer, b.integer, out);
    const double x = a.number(), y = b.number();
    switch (link) {
      case Link::kAdd:
        return Real(x + y, out);
      case Link::kSubtract:
        return Real(x - y, out);
      case Link::kMultiply:
        return Real(x * y, out);
      case Link::kFloorDivide:
        return Real(std::floor(x / y), out);
      default: {
        const double rest = std::fmod(x, y);
        return Real(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest, out);
      }
    }
  }

  bool IntegerArithmetic(Link link, int64_t a, int64_t b, Cell& out) {
    int64_t value = 0;
    bool overflow = false;
    switch (link) {
      case Link::kAdd:
        overflow = __builtin_add_overflow(a, b, &value);
        break;
      case Link::kSubtract:
        overflow = __builtin_sub_overflow(a, b, &value);
        break;
      case Link::kMultiply:
        overflow = __builtin_mul_overflow(a, b, &value);
        break;
      case Link::kFloorDivide:
        // The smallest number over -1 is the one quotient that does not fit.
        overflow = b == -1 && a == std::numeric_limits<int64_t>::min();
        if (!overflow) value = FloorDivide(a, b);
        break;
      default:
        value = FloorRemainder(a, b);
        break;
    }
    if (overflow) return Fail(fmt::format("{} and {} give a number beyond 64 bits", a, b));
    out = Cell::Integer(value);
    return true;
  }

  bool Divide(const Cell& a, const Cell& b, Cell& out) {
    // A quotient of integers that comes out whole stays exact above 2^53.
    if (a.kind == Cell::Kind::kInteger && b.kind == Cell::Kind::kInteger && b.integer != -1 &&
        a.integer % b.integer == 0) {
      return Real(static_cast<double>(a.integer / b.integer), out);
    }
    return Real(a.number() / b.number(), out);
  }

  bool Real(double value, Cell& out) {
    if (!std::isfinite(value)) return Fail("the value is beyond the range of a double");
    out = Cell::Real(value);
    return true;
  }

  bool Power(const Cell base, const Cell exponent, Cell& out) {
    if (base.kind != Cell::Kind::kInteger || exponent.kind != Cell::Kind::kInteger || exponent.integer < 0) {
      if (base.number() == 0 && exponent.number() < 0) return Fail("division by zero");
      return Real(std::pow(base.number(), exponent.number()), out);
    }
    Cell result = Cell::Integer(1), square = base;
    for (int64_t left = exponent.integer; left > 0;) {
      if ((left & 1) != 0 && !IntegerArithmetic(Link::kMultiply, result.integer, square.integer, result)) return false;
      left >>= 1;
      if (left > 0 && !IntegerArithmetic(Link::kMultiply, square.integer, square.integer, square)) return false;
    }
    out = result;
    return true;
  }

  bool Compare(const Node& node, Cell& out) {
    Cell left;
    if (!Run(node.operands[0], left)) return false;
    for (size_t i = 0; i < node.links.size(); ++i) {
      Cell right;
      bool truth = false;
      if (!Run(node.operands[i + 1], right) || !Holds(node.links[i], left, right, truth)) return false;
      out = Cell::Bool(truth);
      if (!truth) return true;
      left = right;
    }
    return true;
  }

  bool Holds(Link link, const Cell& a, const Cell& b, bool& truth) {
    if (link == Link::kEqual || link == Link::kNotEqual) {
      if (!Equal(a, b, truth)) return false;
      truth = truth == (link == Link::kEqual);
      return true;
    }
    if (!a.is_number() || !b.is_number()) {
      return Fail(fmt::format("{} and {} have no order; compare numbers", Show(ToValue(a)), Show(ToValue(b))));
    }
    switch (link) {
      case Link::kLess:
        truth = Ordered(a, b, std::less<>());
        break;
      case Link::kLessEqual:
        truth = Ordered(a, b, std::less_equal<>());
        break;
      case Link::kGreater:
        truth = Ordered(a, b, std::greater<>());
        break;
      default:
        truth = Ordered(a, b, std::greater_equal<>());
        break;
    }
    return true;
  }

  bool Equal(const Cell& a, const Cell& b, bool& truth) {
    if (a.is_number() && b.is_number()) {
      truth = Ordered(a, b, std::equal_to<>());
    } else if (a.kind != b.kind) {
      return Fail(
          fmt::format("{} and {} are of different kinds; compare like with like", Show(ToValue(a)), Show(ToValue(b))));
    } else {
      truth = a.kind == Cell::Kind::kText ? *a.text == *b.text : a.truth == b.truth;
    }
    return true;
  }

  bool In(const Node& node, Cell& out) {
    Cell value;
    if (!Run(node.operands[0], value)) return false;
    bool found = false;
    for (size_t i = 1; i < node.operands.size() && !found; ++i) {
      Cell entry;
      if (!Run(node.operands[i], entry) || !Equal(value, entry, found)) return false;
    }
    out = Cell::Bool(found == (node.op == Op::kIn));
    return true;
  }

  bool Extreme(const Node& node, Cell& out) {
    if (!Number(node.operands[0], out)) return false;
    for (size_t i = 1; i < node.operands.size(); ++i) {
      Cell next;
      if (!Number(node.operands[i], next)) return false;
      if (node.op == Op::kMin ? Ordered(next, out, std::less<>()) : Ordered(next, out, std::greater<>())) out = next;
    }
    return true;
  }

  bool Call(const Node& node, Cell& out) {
    if (!Number(node.operands[0], out)) return false;
    switch (node.op) {
      case Op::kAbs:
        if (out.kind == Cell::Kind::kReal) return Real(std::abs(out.real), out);
        return out.integer >= 0 || Arithmetic(Link::kSubtract, Cell::Integer(0), out, out);
      case Op::kLog2:
        return out.number() > 0 ? Real(std::log2(out.number()), out) : Fail(fmt::format("log2 of {}", out.number()));
      case Op::kSqrt:
        return out.number() >= 0 ? Real(std::sqrt(out.number()), out) : Fail(fmt::format("sqrt of {}", out.number()));
      default: {  // ceil_div(a, b) = -((-a) // b)
        Cell divisor;
        return Number(node.operands[1], divisor) && Arithmetic(Link::kSubtract, Cell::Integer(0), out, out) &&
               Arithmetic(Link::kFloorDivide, out, divisor, out) &&
               Arithmetic(Link::kSubtract, Cell::Integer(0), out, out);
      }
    }
  }

  const Lookup& lookup_;
  std::string problem_;
};

// An error shows every value that went in: the reader must not have to guess which shape it was.
template <typename Lookup>
Error Explain(const std::string& text, const Node& root, const Lookup& lookup, std::string_view problem) {
  std::string values;
  for (size_t i = 0; i < root.names.size(); ++i) {
    if (const Value* value = lookup(i))
      values += fmt::format("{}{} = {}", values.empty() ? "; " : ", ", root.names[i], Show(*value));
  }
  return Error{ErrorCode::kInvalidInput, fmt::format("\"{}\": {}{}", text, problem, values)};
}

template <typename Lookup>
Result<Value> EvaluateValue(const std::string& text, const Node& root, const Lookup& lookup) {
  Evaluator<Lookup> evaluator(lookup);
  Cell cell;
  if (!evaluator.Run(root, cell)) return Explain(text, root, lookup, evaluator.problem());
  return ToValue(cell);
}

template <typename Lookup>
Result<double> EvaluateReal(const std::string& text, const Node& root, const Lookup& lookup) {
  Evaluator<Lookup> evaluator(lookup);
  Cell cell;
  if (!evaluator.Run(root, cell)) return Explain(text, root, lookup, evaluator.problem());
  if (!cell.is_number()) return Explain(text, root, lookup, fmt::format("gives {}, not a number", Show(ToValue(cell))));
  return cell.number();
}

template <typename Lookup>
Result<int64_t> EvaluateWhole(const std::string& text, const Node& root, const Lookup& lookup) {
  Evaluator<Lookup> evaluator(lookup);
  Cell cell;
  if (!evaluator.Run(root, cell)) return Explain(text, root, lookup, evaluator.problem());
  if (cell.kind == Cell::Kind::kInteger) return cell.integer;
  const bool whole =
      cell.kind == Cell::Kind::kReal && cell.real == std::floor(cell.real) && std::abs(cell.real) < 0x1p63;
  if (whole) return static_cast<int64_t>(cell.real);
  return Explain(text, root, lookup, fmt::format("gives {}, not a whole number", Show(ToValue(cell))));
}

template <typename Lookup>
Result<bool> EvaluateTruth(const std::string& text, const Node& root, const Lookup& lookup) {
  Evaluator<Lookup> evaluator(lookup);
  Cell cell;
  if (!evaluator.Run(root, cell)) return Explain(text, root, lookup, evaluator.problem());
  if (cell.kind == Cell::Kind::kBool) return cell.truth;
  return Explain(text, root, lookup,
                 fmt::format("gives {}, not a condition; compare it, for example with == 0", Show(ToValue(cell))));
}

}  // namespace

Result<Value> Expression::Evaluate(const Names& names) const {
  ASSAY_CHECK(root_ != nullptr);
  return EvaluateValue(text_, *root_, [&](size_t i) { return names(root_->names[i]); });
}

Result<int64_t> Expression::EvaluateInteger(const Names& names) const {
  ASSAY_CHECK(root_ != nullptr);
  return EvaluateWhole(text_, *root_, [&](size_t i) { return names(root_->names[i]); });
}

Result<double> Expression::EvaluateNumber(const Names& names) const {
  ASSAY_CHECK(root_ != nullptr);
  return EvaluateReal(text_, *root_, [&](size_t i) { return names(root_->names[i]); });
}

Result<bool> Expression::EvaluateCondition(const Names& names) const {
  ASSAY_CHECK(root_ != nullptr);
  return EvaluateTruth(text_, *root_, [&](size_t i) { return names(root_->names[i]); });
}

Result<BoundExpression> Expression::Bind(std::span<const std::string> names) const {
  ASSAY_CHECK(root_ != nullptr);
  BoundExpression bound;
  bound.expression_ = *this;
  for (const std::string& name : root_->names) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("\"{}\": {} is not known here; use a name that is declared", text_, name)};
    }
    bound.positions_.push_back(static_cast<int>(found - names.begin()));
  }
  return bound;
}

Result<Value> BoundExpression::Evaluate(std::span<const Value> values) const {
  const auto lookup = [&](size_t i) { return &values[static_cast<size_t>(positions_[i])]; };
  return EvaluateValue(expression_.text_, *expression_.root_, lookup);
}

Result<bool> BoundExpression::EvaluateCondition(std::span<const Value> values) const {
  const auto lookup = [&](size_t i) { return &values[static_cast<size_t>(positions_[i])]; };
  return EvaluateTruth(expression_.text_, *expression_.root_, lookup);
}

Result<double> BoundExpression::EvaluateNumber(std::span<const Value> values) const {
  const auto lookup = [&](size_t i) { return &values[static_cast<size_t>(positions_[i])]; };
  return EvaluateReal(expression_.text_, *expression_.root_, lookup);
}

}  // namespace assay
