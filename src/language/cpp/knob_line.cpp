// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/knob_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace assay {
namespace {

bool Blank(char c) { return c == ' ' || c == '\t'; }
bool Letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool Digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool WordPart(char c) { return Letter(c) || Digit(c) || c == '_'; }

constexpr int64_t kLimit = int64_t{1} << 31;  // |value| stays below it: an int in the preprocessor and in C

struct Token {
  std::string_view text;  // "" at the end
  bool Is(std::string_view other) const { return text == other; }
};

// Cuts at blanks and around '=', '|' and "..".  What is between them stays together, so that a
// malformed number is shown whole.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  Token Peek() const {
    Cursor copy = *this;
    return copy.Next();
  }
  Token Next() {
    SkipBlanks();
    if (text_.empty()) return {};
    if (text_.front() == '=' || text_.front() == '|') return Take(1);
    if (text_.starts_with("..")) return Take(2);
    size_t end = 0;
    while (end < text_.size() && !Blank(text_[end]) && text_[end] != '=' && text_[end] != '|' &&
           !text_.substr(end).starts_with(".."))
      ++end;
    return Take(end);
  }
  std::string_view Rest() const { return Trim(text_); }

 private:
  void SkipBlanks() {
    while (!text_.empty() && Blank(text_.front())) text_.remove_prefix(1);
  }
  Token Take(size_t length) {
    const Token token{text_.substr(0, length)};
    text_.remove_prefix(length);
    return token;
  }
  std::string_view text_;
};

std::string Shown(std::string_view text) { return Printable(Cut(text, 40)); }

// A decimal integer, or what is wrong with the spelling.
Result<int64_t> ParseInt(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return Error{ErrorCode::kInvalidInput, fmt::format("{}: {}", Shown(text), why)};
  };
  std::string_view digits = text;
  if (digits.starts_with('+')) return wrong("write the number without a plus");
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.empty()) return wrong("a number or a word is missing");
  if (digits.starts_with("0x") || digits.starts_with("0X") || digits.starts_with("0b") || digits.starts_with("0B")) {
    return wrong("write the number in decimal");
  }
  if (digits.find('.') != std::string_view::npos)
    return wrong("a knob takes whole numbers; scale it and divide in the code");
  if (!std::all_of(digits.begin(), digits.end(), Digit)) return wrong("write digits only, without suffix or separator");
  if (digits.size() > 1 && digits.front() == '0') return wrong("a leading zero means octal in C; drop it");
  if (text == "-0") return wrong("write 0");
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value >= kLimit || value <= -kLimit) return wrong("numbers lie below 2^31");
  return value;
}

bool LooksLikeWord(std::string_view text) {
  return !text.empty() && Letter(text.front()) && std::all_of(text.begin(), text.end(), WordPart);
}

class KnobParser {
 public:
  explicit KnobParser(std::string_view text) : cursor_(text) {}

  Result<Knob> Run(const std::function<std::optional<std::string>(const std::string&)>& trouble) {
    knob_.name = std::string(cursor_.Next().text);
    if (knob_.name.empty())
      return Error{ErrorCode::kInvalidInput,
                   "assay:knob: a name is missing, for example assay:knob TILE_M = 4 | 6 | 8"};
    if (auto why = trouble(knob_.name)) return Bad(*why);
    if (!cursor_.Next().Is("=")) return Bad("write = between name and values");
    ASSAY_TRY_STATUS(Values());
    ASSAY_TRY_STATUS(Default());
    ASSAY_TRY_STATUS(Condition());
    return std::move(knob_);
  }

 private:
  Error Bad(std::string_view what) const {
    return Error{ErrorCode::kInvalidInput, fmt::format("assay:knob {}: {}", Shown(knob_.name), what)};
  }

  // One value, checked for its spelling and its kind; "" when it was wrong, with error_ set.
  Result<std::string> One(bool first) {
    const Token token = cursor_.Next();
    if (token.text.empty() || token.Is("|") || token.Is("=") || token.Is("..")) {
      return Bad(token.Is("..") ? "a range needs both ends, for example 4 .. 16" : "a value is missing");
    }
    const bool word = Letter(token.text.front());
    if (word && !LooksLikeWord(token.text))
      return Bad(fmt::format("{}: a word is letters, digits and underscores", Shown(token.text)));
    if (word && (token.Is("if") || token.Is("default") || token.Is("step")))
      return Bad(fmt::format("a value is missing before {}", token.text));
    if (first) knob_.integers = !word;
    if (word == knob_.integers)
      return Bad(fmt::format("{}: numbers and words do not mix in one knob", Shown(token.text)));
    if (!word) {
      auto number = ParseInt(token.text);
      if (!number.ok()) return Bad(number.error().message);
      return std::to_string(number.value());
    }
    return std::string(token.text);
  }

  Status Values() {
    ASSAY_TRY(std::string first, One(true));
    if (cursor_.Peek().Is("..")) return Range(first);
    knob_.values.push_back(std::move(first));
    while (cursor_.Peek().Is("|")) {
      cursor_.Next();
      ASSAY_TRY(std::string value, One(false));
      if (std::find(knob_.values.begin(), knob_.values.end(), value) != knob_.values.end())
        return Bad(fmt::format("{} is given twice", value));
      knob_.values.push_back(std::move(value));
      if (knob_.values.size() > kMaxKnobValues) return Bad("more than 1024 values; coarsen the steps");
    }
    if (cursor_.Peek().Is("..")) return Bad("a list and a range do not mix; write one of them");
    return Ok();
  }

  Status Range(const std::string& first) {
    if (!knob_.integers) return Bad("a range is between numbers; separate words with |");
    cursor_.Next();
    const Token end = cursor_.Peek();
    if (end.text.empty() || end.Is("step") || end.Is("pow2") || end.Is("default") || end.Is("if"))
      return Bad("a range needs both ends, for example 4 .. 16");
    ASSAY_TRY(const std::string last, One(false));
    const int64_t low = std::stoll(first), high = std::stoll(last);
    if (high < low) return Bad(fmt::format("the range {} .. {} is empty; write the smaller end first", low, high));
    int64_t step = 1;
    bool doubling = false;
    if (cursor_.Peek().Is("pow2")) {
      cursor_.Next();
      doubling = true;
      if (low < 1 || (low & (low - 1)) != 0)
        return Bad(fmt::format("a pow2 range starts at a power of two, not at {}", low));
    } else if (cursor_.Peek().Is("step")) {
      cursor_.Next();
      ASSAY_TRY(const std::string given, One(false));
      step = std::stoll(given);
      if (step < 1) return Bad(fmt::format("a step is at least 1, not {}", step));
    }
    for (int64_t value = low; value <= high; value = doubling ? value * 2 : value + step) {
      if (knob_.values.size() == kMaxKnobValues) return Bad("more than 1024 values; coarsen the steps");
      knob_.values.push_back(std::to_string(value));
    }
    return Ok();
  }

  Status Default() {
    knob_.default_value = knob_.values.front();
    if (!cursor_.Peek().Is("default")) return Ok();
    cursor_.Next();
    ASSAY_TRY(knob_.default_value, One(false));
    if (std::find(knob_.values.begin(), knob_.values.end(), knob_.default_value) == knob_.values.end()) {
      return Bad(fmt::format("the default {} is not one of its values {}", knob_.default_value,
                             Cut(Join(knob_.values, ", "), 200)));
    }
    return Ok();
  }

  Status Condition() {
    const Token token = cursor_.Next();
    if (token.text.empty()) return Ok();
    if (!token.Is("if"))
      return Bad(
          fmt::format("\"{}\" is one too many; values are separated by |, then come default VALUE and if CONDITION",
                      Shown(token.text)));
    if (cursor_.Rest().empty()) return Bad("a condition is missing behind if");
    auto parsed = Expression::Parse(cursor_.Rest());
    if (!parsed.ok()) return Bad("if: " + parsed.error().message);
    knob_.only_if = std::move(parsed).value();
    return Ok();
  }

  Cursor cursor_;
  Knob knob_;
};

}  // namespace

std::optional<std::string> BadKnobName(std::string_view name) {
  if (name.size() < 2)
    return "a knob's name has 2 to 32 characters; choose a longer one, for example TILE_" + std::string(name);
  if (name.size() > 32) return "a knob's name has 2 to 32 characters; choose a shorter one";
  const auto capital = [](char c) { return (c >= 'A' && c <= 'Z') || Digit(c) || c == '_'; };
  if (name.front() < 'A' || name.front() > 'Z' || !std::all_of(name.begin(), name.end(), capital)) {
    return "write the name in capitals, digits and underscores, beginning with a capital, as macros are written";
  }
  if (name.starts_with("ASSAY_")) return "names that begin with ASSAY_ belong to the harness; choose another";
  return std::nullopt;
}

Result<Knob> ParseKnobLine(std::string_view text,
                           const std::function<std::optional<std::string>(const std::string&)>& trouble) {
  return KnobParser(text).Run(trouble);
}

}  // namespace assay
