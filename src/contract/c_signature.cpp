// SPDX-License-Identifier: Apache-2.0
#include "contract/c_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>

#include "base/text.h"
#include "contract/c_tokens.h"
#include "contract/config.h"
#include "contract/reader.h"

namespace assay {
namespace {

using Kind = CToken::Kind;
using Tokens = std::span<const CToken>;

// The index after the bracket that closes the one at `open`; the size when none does.
size_t AfterGroup(Tokens tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (tokens[i].kind != Kind::kSymbol) continue;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && --depth == 0) return i + 1;
  }
  return tokens.size();
}

bool IsAttribute(const CToken& token) {
  return token.Is("__attribute__") || token.Is("alignas") || token.Is("__declspec");
}

// Leaves out attributes and directives, which may stand anywhere in a declaration.
std::vector<CToken> WithoutAttributes(Tokens tokens) {
  std::vector<CToken> kept;
  for (size_t i = 0; i < tokens.size();) {
    if (IsAttribute(tokens[i]) && i + 1 < tokens.size() && tokens[i + 1].Is("(")) {
      i = AfterGroup(tokens, i + 1);
    } else if (tokens[i].Is("[") && i + 1 < tokens.size() && tokens[i + 1].Is("[")) {
      i = AfterGroup(tokens, i);
    } else {
      if (tokens[i].kind != Kind::kDirective) kept.push_back(tokens[i]);
      ++i;
    }
  }
  return kept;
}

struct Found {
  size_t name = 0;  // index of the symbol
  size_t after = 0;
  bool definition = false;
};

// A declaration has a type in front of the name; a call has an operator or the end of a statement.
bool LooksDeclared(Tokens tokens, size_t name) {
  if (name == 0) return false;
  const CToken& before = tokens[name - 1];
  if (before.Is("*") || before.Is(">")) return name >= 2;
  return before.kind == Kind::kWord && !before.Is("return") && !before.Is("else") && !before.Is("do");
}

std::optional<Found> Find(Tokens tokens, std::string_view symbol) {
  std::optional<Found> found;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind != Kind::kWord || !tokens[i].Is(symbol) || !tokens[i + 1].Is("(") || !LooksDeclared(tokens, i))
      continue;
    size_t after = AfterGroup(tokens, i + 1);
    while (after < tokens.size() && tokens[after].Is("noexcept")) ++after;
    if (after >= tokens.size()) continue;
    const bool definition = tokens[after].Is("{");
    if (!definition && !tokens[after].Is(";")) continue;
    if (!found || (definition && !found->definition)) found = Found{i, AfterGroup(tokens, i + 1), definition};
  }
  return found;
}

// Functions that the file defines, for "did you mean".
std::vector<std::string> Defined(Tokens tokens) {
  std::set<std::string> names;
  for (size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind != Kind::kWord || !tokens[i + 1].Is("(") || !LooksDeclared(tokens, i)) continue;
    const size_t after = AfterGroup(tokens, i + 1);
    if (after < tokens.size() && tokens[after].Is("{")) names.insert(tokens[i].text);
  }
  return {names.begin(), names.end()};
}

// The tokens of the declaration in front of the name.
Tokens Specifiers(Tokens tokens, size_t name) {
  size_t begin = name;
  while (begin > 0 && !tokens[begin - 1].Is(";") && !tokens[begin - 1].Is("}") && !tokens[begin - 1].Is("{")) --begin;
  return tokens.subspan(begin, name - begin);
}

bool Contains(Tokens tokens, std::string_view word) {
  return std::ranges::any_of(tokens, [&](const CToken& token) { return token.Is(word); });
}

// One spelling for each type that a contract knows; "" for others.
std::string Canonical(std::vector<std::string> words) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kTypes = {
      {{"float", "float"},           {"double", "double"},      {"int8_t", "int8_t"},
       {"signed char", "int8_t"},    {"char", "int8_t"},        {"uint8_t", "uint8_t"},
       {"unsigned char", "uint8_t"}, {"int32_t", "int32_t"},    {"int", "int32_t"},
       {"signed", "int32_t"},        {"signed int", "int32_t"}, {"int64_t", "int64_t"},
       {"long", "int64_t"},          {"long int", "int64_t"},   {"long long", "int64_t"},
       {"long long int", "int64_t"}, {"ptrdiff_t", "int64_t"},  {"ssize_t", "int64_t"},
       {"intptr_t", "int64_t"},      {"size_t", "size_t"},      {"uint64_t", "size_t"},
       {"unsigned long", "size_t"},  {"unsigned", "unsigned"},  {"unsigned int", "unsigned"},
       {"uint32_t", "unsigned"},     {"uint16_t", "uint16_t"}}};
  const std::string joined = Join(words, " ");
  for (const auto& [spelling, canonical] : kTypes) {
    if (joined == spelling) return std::string(canonical);
  }
  return "";
}

class ParameterReader {
 public:
  ParameterReader(std::string file, std::string symbol) : file_(std::move(file)), symbol_(std::move(symbol)) {}

  Result<std::vector<CParameter>> Read(Tokens tokens) {
    std::vector<CParameter> parameters;
    const bool none = tokens.empty() || (tokens.size() == 1 && tokens[0].Is("void"));
    for (size_t begin = 0; begin <= tokens.size() && !none;) {
      size_t end = begin;
      while (end < tokens.size() && !tokens[end].Is(","))
        end = tokens[end].Is("(") || tokens[end].Is("[") ? AfterGroup(tokens, end) : end + 1;
      end = std::min(end, tokens.size());
      ASSAY_TRY(CParameter parameter, One(tokens.subspan(begin, end - begin)));
      parameters.push_back(std::move(parameter));
      begin = end + 1;
    }
    return parameters;
  }

 private:
  Error Refuse(int line, std::string_view name, std::string_view what) const {
    return ConfigError(file_, line, symbol_ + (name.empty() ? "" : "." + std::string(name)), what);
  }

  Result<CParameter> One(Tokens tokens) {
    CParameter parameter;
    parameter.line = tokens.empty() ? 0 : tokens[0].line;
    std::vector<std::string> words;
    bool constant = false;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const CToken& token = tokens[i];
      if (token.Is("(") || token.Is("..."))
        return Refuse(token.line, "",
                      "a function pointer or a list of any length is no argument of a kernel; remove it");
      if (token.Is("&"))
        return Refuse(token.line, "", "a reference cannot cross a C interface; pass a pointer or a value");
      if (token.Is("=")) return Refuse(token.line, "", "a default value is not possible in C; remove it");
      if (token.Is("<") || token.Is("."))
        return Refuse(token.line, "",
                      "a template type or a list of any length is no argument of a kernel; pass pointers and numbers");
      if (token.Is("[")) {
        if (parameter.pointer)
          return Refuse(token.line, "", "a pointer to pointers is not supported; pass one pointer and its strides");
        parameter.pointer = true;
        i = AfterGroup(tokens, i) - 1;
        continue;
      }
      if (token.Is("*")) {
        if (parameter.pointer)
          return Refuse(token.line, "", "a pointer to pointers is not supported; pass one pointer and its strides");
        parameter.pointer = true;
        parameter.const_target = constant;
        continue;
      }
      if (token.Is("const")) constant = true;
      if (token.Is("const") || token.Is("restrict") || token.Is("__restrict") || token.Is("__restrict__") ||
          token.Is("volatile") || token.Is("register") || token.Is("std") || token.Is("::"))
        continue;
      words.push_back(token.text);
    }
    // The last word is the name, the others are the type.  `float x[]` is const where its word is.
    if (words.size() < 2) return Refuse(parameter.line, "", "a parameter without a name; give every parameter one");
    parameter.name = words.back();
    words.pop_back();
    if (parameter.pointer) parameter.const_target = parameter.const_target || (constant && !Contains(tokens, "*"));
    parameter.type = Canonical(words);
    if (parameter.type.empty()) {
      return Refuse(parameter.line, parameter.name,
                    fmt::format("the type {} is not known; use float, double or an integer type of <stdint.h>",
                                Cut(Join(words, " "), 60)));
    }
    const bool unsigned_array = parameter.pointer && (parameter.type == "size_t" || parameter.type == "unsigned");
    if (unsigned_array)
      return Refuse(parameter.line, parameter.name, "no dtype is unsigned above 8 bits; use int32_t or int64_t");
    if (!IsArgumentName(parameter.name) || parameter.name == "scratch")
      return Refuse(parameter.line, parameter.name, std::string(kArgumentNameRule) + "; rename it");
    return parameter;
  }

  std::string file_, symbol_;
};

}  // namespace

Result<CSignature> ReadSignature(std::string_view source, std::string_view symbol, const std::filesystem::path& file) {
  const std::string shown = file.string();
  if (source.find('\0') != std::string_view::npos)
    return ConfigError(shown, 1, "file", "holds a NUL byte; it is no source text");
  if (!IsSymbol(symbol))
    return ConfigError(shown, 1, symbol, "is no C symbol that a program may define; name a function of the file");
  const std::vector<CToken> tokens = WithoutAttributes(TokenizeC(source));
  const std::optional<Found> found = Find(tokens, symbol);
  if (!found) {
    const std::vector<std::string> known = Defined(tokens);
    const std::string nearest = Nearest(symbol, known);
    const std::string hint = !nearest.empty() ? "did you mean " + nearest + "?"
                             : known.empty()  ? "the file defines no function"
                                              : "it defines " + Cut(Join(known, ", "), 200);
    return ConfigError(shown, 1, symbol, fmt::format("no such function, or a macro makes it; {}", hint));
  }
  CSignature signature;
  signature.symbol = std::string(symbol);
  signature.line = tokens[found->name].line;
  const Tokens specifiers = Specifiers(tokens, found->name);
  if (Contains(specifiers, "template"))
    return ConfigError(shown, signature.line, symbol, "is a template; write a function with fixed types that calls it");
  if (!Contains(specifiers, "void") || Contains(specifiers, "*"))
    return ConfigError(shown, signature.line, symbol,
                       "returns a value; a kernel returns void and writes through pointers");
  if (Contains(specifiers, "::"))
    return ConfigError(shown, signature.line, symbol,
                       "is a member of a class or namespace; write a plain function that calls it");
  ParameterReader reader(shown, signature.symbol);
  ASSAY_TRY(signature.parameters, reader.Read(Tokens(tokens).subspan(found->name + 2, found->after - found->name - 3)));
  std::set<std::string> names;
  bool writes = false;
  for (const CParameter& parameter : signature.parameters) {
    if (!names.insert(parameter.name).second)
      return ConfigError(shown, parameter.line, parameter.name, "two parameters have this name; rename one");
    writes = writes || (parameter.pointer && !parameter.const_target);
  }
  if (!writes)
    return ConfigError(shown, signature.line, symbol,
                       "has no pointer to non-const, so it writes nothing; add const only to inputs");
  return signature;
}

}  // namespace assay
