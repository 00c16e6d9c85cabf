// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// C and C++ source as tokens: comments are gone, a preprocessor line is one token, a string too.
struct CToken {
  enum class Kind { kWord, kNumber, kString, kSymbol, kDirective };
  Kind kind = Kind::kSymbol;
  std::string text;
  int line = 0;
  bool Is(std::string_view other) const { return text == other; }
};

// Never fails: what is no token of the language becomes a symbol of one byte.
std::vector<CToken> TokenizeC(std::string_view source);

}  // namespace assay
