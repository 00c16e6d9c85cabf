// SPDX-License-Identifier: Apache-2.0
#include "contract/c_tokens.h"

#include <algorithm>

namespace assay {
namespace {

bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordPart(char c) { return IsWordStart(c) || IsDigit(c); }

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  std::vector<CToken> Run() {
    while (at_ < source_.size()) Step();
    return std::move(tokens_);
  }

 private:
  char At(size_t offset = 0) const { return at_ + offset < source_.size() ? source_[at_ + offset] : '\0'; }
  bool Starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void Step() {
    const char c = At();
    if (c == '\n') {
      fresh_line_ = true;
      Skip(1);
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      Skip(1);
    } else if (Starts("\\\n") || Starts("\\\r\n")) {
      Skip(c == '\\' && At(1) == '\r' ? 3 : 2);
    } else if (Starts("//")) {
      SkipLine();
    } else if (Starts("/*")) {
      const size_t end = source_.find("*/", at_ + 2);
      Skip(end == std::string_view::npos ? source_.size() - at_ : end + 2 - at_);
    } else if (c == '#' && fresh_line_) {
      Directive();
    } else {
      fresh_line_ = false;
      Token();
    }
  }

  void Skip(size_t count) {
    count = std::min(count, source_.size() - at_);
    line_ += static_cast<int>(std::ranges::count(source_.substr(at_, count), '\n'));
    at_ += count;
  }

  void SkipLine() {
    while (at_ < source_.size() && At() != '\n') Skip(Starts("\\\n") ? 2 : 1);
  }

  void Push(CToken::Kind kind, size_t length) {
    const int line = line_;
    tokens_.push_back({kind, std::string(source_.substr(at_, length)), line});
    Skip(length);
  }

  void Directive() {
    const size_t begin = at_;
    const int line = line_;
    std::string text;
    while (at_ < source_.size() && At() != '\n') {
      if (Starts("//")) {
        SkipLine();
      } else if (Starts("/*")) {
        const size_t end = source_.find("*/", at_ + 2);
        Skip(end == std::string_view::npos ? source_.size() - at_ : end + 2 - at_);
        text += ' ';
      } else if (Starts("\\\n") || Starts("\\\r\n")) {
        text += "\\\n";
        Skip(At(1) == '\r' ? 3 : 2);
      } else {
        if (At() != '\r') text += At();
        Skip(1);
      }
    }
    if (at_ > begin) tokens_.push_back({CToken::Kind::kDirective, text, line});
  }

  void Token() {
    const char c = At();
    if (Starts("R\"")) return RawString();
    if (IsWordStart(c)) return Run(CToken::Kind::kWord, [](char p, char) { return IsWordPart(p); });
    if (IsDigit(c) || (c == '.' && IsDigit(At(1)))) {
      // A number takes letters, points, digit separators, and a sign after an exponent's letter.
      return Run(CToken::Kind::kNumber, [](char p, char before) {
        const bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
        return IsWordPart(p) || p == '.' || p == '\'' || ((p == '+' || p == '-') && exponent);
      });
    }
    if (c == '"' || c == '\'') return Quoted(c);
    constexpr std::string_view kPairs[] = {"::", "->", "[[", "]]", "+=", "-=", "*=", "/=", "%=", "==",
                                           "!=", "<=", ">=", "&&", "||", "++", "--", "<<", ">>"};
    const bool pair =
        std::ranges::any_of(kPairs, [&](std::string_view p) { return p != "[[" && p != "]]" && Starts(p); });
    Push(CToken::Kind::kSymbol, pair ? 2 : 1);
  }

  template <typename Belongs>
  void Run(CToken::Kind kind, Belongs belongs) {
    size_t length = 1;
    while (at_ + length < source_.size() && belongs(source_[at_ + length], source_[at_ + length - 1])) ++length;
    Push(kind, length);
  }

  void Quoted(char quote) {
    size_t length = 1;
    while (at_ + length < source_.size() && source_[at_ + length] != quote && source_[at_ + length] != '\n') {
      length += source_[at_ + length] == '\\' ? 2 : 1;
    }
    Push(CToken::Kind::kString, std::min(length + 1, source_.size() - at_));
  }

  void RawString() {
    const size_t open = source_.find('(', at_);
    const size_t none = source_.size() - at_;
    if (open == std::string_view::npos || open - at_ > 18) return Push(CToken::Kind::kWord, 1);
    const std::string end = ")" + std::string(source_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const size_t close = source_.find(end, open);
    Push(CToken::Kind::kString, close == std::string_view::npos ? none : close + end.size() - at_);
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool fresh_line_ = true;
  std::vector<CToken> tokens_;
};

}  // namespace

std::vector<CToken> TokenizeC(std::string_view source) { return Tokenizer(source).Run(); }

}  // namespace assay
