// SPDX-License-Identifier: Apache-2.0
#include "base/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/expression_node.h"
#include "base/text.h"

namespace assay {
namespace {

using Node = Expression::Node;
using Op = Node::Op;
using Link = Node::Link;

constexpr size_t kMaxLength = 4096;
constexpr int kMaxDepth = 64;

// Private to this parser: a recursive descent reads better with a throw than with a Result per rule.
struct ParseError {
  size_t column;
  std::string message;
};

enum class TokenKind { kEnd, kNumber, kName, kText, kSymbol };
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  size_t column = 1;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token Next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
    if (at_ == text_.size()) return {TokenKind::kEnd, "", at_ + 1};
    const char c = text_[at_];
    if (IsDigit(c)) return Number();
    if (IsNameStart(c)) return Take(TokenKind::kName, RunLength());
    if (c == '\'') return Text();
    return Symbol();
  }

 private:
  Token Take(TokenKind kind, size_t length) {
    const Token token{kind, text_.substr(at_, length), at_ + 1};
    at_ += length;
    return token;
  }

  size_t RunLength() const {
    size_t end = at_;
    while (end < text_.size() && IsNamePart(text_[end])) ++end;
    return end - at_;
  }

  char At(size_t index) const { return index < text_.size() ? text_[index] : '\0'; }

  Token Number() {
    size_t end = at_;
    const auto digits = [&] {
      while (IsDigit(At(end))) ++end;
    };
    digits();
    if (end - at_ > 1 && text_[at_] == '0')
      throw ParseError{at_ + 1, "a number has no leading zero; write it in decimal"};
    if (At(end) == '.') {
      ++end;
      digits();
    }
    if (At(end) == 'e' || At(end) == 'E') {
      const size_t sign = At(end + 1) == '+' || At(end + 1) == '-' ? 2 : 1;
      if (IsDigit(At(end + sign))) {
        end += sign;
        digits();
      }
    }
    if (IsNamePart(At(end)) || At(end) == '.')
      throw ParseError{at_ + 1, "not a number; write it in decimal, without a suffix"};
    return Take(TokenKind::kNumber, end - at_);
  }

  Token Text() {
    const size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) throw ParseError{at_ + 1, "the text has no closing '; add it"};
    return Take(TokenKind::kText, end + 1 - at_);
  }

  Token Symbol() {
    constexpr std::array<std::string_view, 18> kSymbols = {"**", "//", "<=", ">=", "==", "!=", "<", ">", "+",
                                                           "-",  "*",  "/",  "%",  "(",  ")",  "[", "]", ","};
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view symbol : kSymbols) {
      if (rest.starts_with(symbol)) return Take(TokenKind::kSymbol, symbol.size());
    }
    if (rest.starts_with("&&") || rest.starts_with("||") || rest[0] == '!') {
      throw ParseError{at_ + 1, fmt::format("{} is not an operator here; write and, or, not",
                                            rest[0] == '!' ? "!" : rest.substr(0, 2))};
    }
    if (rest[0] == '=') throw ParseError{at_ + 1, "= does not compare; write =="};
    throw ParseError{at_ + 1, fmt::format("unexpected \"{}\"; remove it", Printable(rest.substr(0, 1)))};
  }

  std::string_view text_;
  size_t at_ = 0;
};

struct Function {
  std::string_view name;
  Op op;
  size_t least, most;
};
constexpr std::array<Function, 6> kFunctions = {{{"min", Op::kMin, 1, SIZE_MAX},
                                                 {"max", Op::kMax, 1, SIZE_MAX},
                                                 {"abs", Op::kAbs, 1, 1},
                                                 {"ceil_div", Op::kCeilDiv, 2, 2},
                                                 {"log2", Op::kLog2, 1, 1},
                                                 {"sqrt", Op::kSqrt, 1, 1}}};

struct LinkSymbol {
  std::string_view symbol;
  Link link;
};
constexpr std::array<LinkSymbol, 2> kSumLinks = {{{"+", Link::kAdd}, {"-", Link::kSubtract}}};
constexpr std::array<LinkSymbol, 4> kProductLinks = {
    {{"*", Link::kMultiply}, {"/", Link::kDivide}, {"//", Link::kFloorDivide}, {"%", Link::kModulo}}};
constexpr std::array<LinkSymbol, 6> kCompareLinks = {{{"<", Link::kLess},
                                                      {"<=", Link::kLessEqual},
                                                      {">", Link::kGreater},
                                                      {">=", Link::kGreaterEqual},
                                                      {"==", Link::kEqual},
                                                      {"!=", Link::kNotEqual}}};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {
    current_ = lexer_.Next();
    next_ = lexer_.Next();
  }

  Node Whole() {
    Node root = Or();
    if (current_.kind != TokenKind::kEnd) Unexpected("an operator");
    root.names = std::move(names_);
    return root;
  }

 private:
  // Counts nesting while it lives; every recursion of the grammar passes through one.
  class Deeper {
   public:
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxDepth)
        throw ParseError{parser_.current_.column, fmt::format("nested deeper than {}; split it", kMaxDepth)};
    }
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] void Unexpected(std::string_view wanted) const {
    const std::string found = current_.kind == TokenKind::kEnd ? "the end" : fmt::format("\"{}\"", current_.text);
    throw ParseError{current_.column, fmt::format("found {} where {} should stand", found, wanted)};
  }

  void Advance() {
    current_ = next_;
    next_ = lexer_.Next();
  }
  bool IsWord(const Token& token, std::string_view word) const {
    return token.kind == TokenKind::kName && token.text == word;
  }
  bool IsSymbol(std::string_view symbol) const {
    return current_.kind == TokenKind::kSymbol && current_.text == symbol;
  }
  bool TakeWord(std::string_view word) {
    if (!IsWord(current_, word)) return false;
    Advance();
    return true;
  }
  bool TakeSymbol(std::string_view symbol) {
    if (!IsSymbol(symbol)) return false;
    Advance();
    return true;
  }
  void ExpectSymbol(std::string_view symbol) {
    if (!TakeSymbol(symbol)) Unexpected(fmt::format("\"{}\"", symbol));
  }

  std::optional<Link> TakeLink(std::span<const LinkSymbol> links) {
    if (current_.kind != TokenKind::kSymbol) return std::nullopt;
    for (const LinkSymbol& entry : links) {
      if (TakeSymbol(entry.symbol)) return entry.link;
    }
    return std::nullopt;
  }

  Node Or() {
    const Deeper deeper(*this);
    Node node = And();
    while (TakeWord("or")) Append(node, Op::kOr, And());
    return node;
  }

  Node And() {
    Node node = Not();
    while (TakeWord("and")) Append(node, Op::kAnd, Not());
    return node;
  }

  // Parenthesised `(a or b) or c` is a node of the same kind and may take the operand in; the meaning is the same.
  static void Append(Node& node, Op op, Node operand) {
    if (node.op != op) {
      Node wrapped;
      wrapped.op = op;
      wrapped.operands.push_back(std::move(node));
      node = std::move(wrapped);
    }
    node.operands.push_back(std::move(operand));
  }

  Node Not() {
    if (!TakeWord("not")) return Compare();
    return Unary(Op::kNot, Compare());
  }

  static Node Unary(Op op, Node operand) {
    Node node;
    node.op = op;
    node.operands.push_back(std::move(operand));
    return node;
  }

  Node Compare() {
    Node first = Sum();
    if (IsWord(current_, "in") || (IsWord(current_, "not") && IsWord(next_, "in"))) {
      const Op op = TakeWord("not") ? Op::kNotIn : Op::kIn;
      Advance();
      return List(Unary(op, std::move(first)));
    }
    return Chain(Op::kCompare, std::move(first), kCompareLinks, [this] { return Sum(); });
  }

  Node List(Node node) {
    ExpectSymbol("[");
    do node.operands.push_back(Sum());
    while (TakeSymbol(","));
    ExpectSymbol("]");
    return node;
  }

  template <typename Rule>
  Node Chain(Op op, Node first, std::span<const LinkSymbol> links, Rule rule) {
    std::optional<Link> link = TakeLink(links);
    if (!link) return first;
    Node node = Unary(op, std::move(first));
    for (; link; link = TakeLink(links)) {
      node.links.push_back(*link);
      node.operands.push_back(rule());
    }
    return node;
  }

  Node Sum() {
    return Chain(Op::kChain, Product(), kSumLinks, [this] { return Product(); });
  }
  Node Product() {
    return Chain(Op::kChain, Signed(), kProductLinks, [this] { return Signed(); });
  }

  // -2 ** 2 is -4: the sign binds less than the power, as in Python.
  Node Signed() {
    if (!TakeSymbol("-")) return Power();
    return Unary(Op::kNegate, Power());
  }

  Node Power() {
    Node node = Atom();
    if (!TakeSymbol("**")) return node;
    const Deeper deeper(*this);
    node = Unary(Op::kPower, std::move(node));
    node.operands.push_back(Signed());
    return node;
  }

  Node Atom() {
    if (TakeSymbol("(")) {
      Node node = Or();
      ExpectSymbol(")");
      return node;
    }
    const Token token = current_;
    if (token.kind == TokenKind::kNumber) return Number();
    if (token.kind == TokenKind::kText) {
      Advance();
      Node node;
      node.op = Op::kText;
      node.text = std::string(token.text.substr(1, token.text.size() - 2));
      return node;
    }
    if (token.kind != TokenKind::kName) Unexpected("a value");
    if (token.text == "and" || token.text == "or" || token.text == "not" || token.text == "in") Unexpected("a value");
    Advance();
    return IsSymbol("(") ? Call(token) : Name(token);
  }

  Node Number() {
    const std::string_view text = current_.text;
    Node node;
    const char* end = text.data() + text.size();
    if (text.find_first_of(".eE") == std::string_view::npos) {
      if (std::from_chars(text.data(), end, node.integer).ec != std::errc()) {
        throw ParseError{current_.column, fmt::format("{} does not fit into 64 bits; write a smaller number", text)};
      }
    } else {
      node.op = Op::kReal;
      if (std::from_chars(text.data(), end, node.real).ec != std::errc()) {
        throw ParseError{current_.column, fmt::format("{} is outside the range of double; write another number", text)};
      }
    }
    Advance();
    return node;
  }

  Node Name(const Token& token) {
    const auto found = std::ranges::find(names_, token.text);
    Node node;
    node.op = Op::kName;
    node.integer = found - names_.begin();
    node.text = std::string(token.text);
    if (found == names_.end()) names_.emplace_back(token.text);
    return node;
  }

  Node Call(const Token& name) {
    const auto function = std::ranges::find(kFunctions, name.text, &Function::name);
    if (function == kFunctions.end()) {
      throw ParseError{name.column,
                       fmt::format("{} is no function; there are min, max, abs, ceil_div, log2, sqrt", name.text)};
    }
    ExpectSymbol("(");
    Node node;
    node.op = function->op;
    do node.operands.push_back(Or());
    while (TakeSymbol(","));
    ExpectSymbol(")");
    if (node.operands.size() < function->least || node.operands.size() > function->most) {
      throw ParseError{name.column, fmt::format("{} takes {} argument{}", name.text, function->least,
                                                function->least == 1 ? "" : "s")};
    }
    return node;
  }

  Lexer lexer_;
  Token current_, next_;
  std::vector<std::string> names_;
  int depth_ = 0;
};

}  // namespace

Result<Expression> Expression::Parse(std::string_view text) {
  const auto refuse = [&](size_t column, std::string_view message) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("\"{}\" column {}: {}", Printable(Cut(text, 120)), column, message)};
  };
  if (text.size() > kMaxLength) return refuse(kMaxLength, "an expression has at most 4096 bytes; split it");
  if (Trim(text).empty()) return refuse(1, "the expression is empty; write one");
  try {
    Expression expression;
    expression.root_ = std::make_shared<const Node>(Parser(text).Whole());
    expression.text_ = std::string(Trim(text));
    return expression;
  } catch (const ParseError& error) {
    return refuse(error.column, error.message);
  }
}

std::vector<std::string> Expression::NamesUsed() const {
  std::vector<std::string> names = root_ ? root_->names : std::vector<std::string>();
  std::ranges::sort(names);
  return names;
}

}  // namespace assay
