// SPDX-License-Identifier: Apache-2.0
#include "contract/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "numerics/dtype.h"

namespace assay {
namespace {

using Kind = ConfigNode::Kind;

constexpr size_t kMaxItems = 1024;

// C++20 keywords and alternative tokens, C keywords that are not among them, and the words of expressions.
constexpr auto kReserved = std::to_array<std::string_view>({"alignas",
                                                            "alignof",
                                                            "and",
                                                            "and_eq",
                                                            "asm",
                                                            "auto",
                                                            "bitand",
                                                            "bitor",
                                                            "bool",
                                                            "break",
                                                            "case",
                                                            "catch",
                                                            "char",
                                                            "char16_t",
                                                            "char32_t",
                                                            "char8_t",
                                                            "class",
                                                            "co_await",
                                                            "co_return",
                                                            "co_yield",
                                                            "compl",
                                                            "concept",
                                                            "const",
                                                            "const_cast",
                                                            "consteval",
                                                            "constexpr",
                                                            "constinit",
                                                            "continue",
                                                            "decltype",
                                                            "default",
                                                            "delete",
                                                            "do",
                                                            "double",
                                                            "dynamic_cast",
                                                            "else",
                                                            "enum",
                                                            "explicit",
                                                            "export",
                                                            "extern",
                                                            "false",
                                                            "float",
                                                            "for",
                                                            "friend",
                                                            "goto",
                                                            "if",
                                                            "inline",
                                                            "int",
                                                            "long",
                                                            "mutable",
                                                            "namespace",
                                                            "new",
                                                            "noexcept",
                                                            "not",
                                                            "not_eq",
                                                            "nullptr",
                                                            "operator",
                                                            "or",
                                                            "or_eq",
                                                            "private",
                                                            "protected",
                                                            "public",
                                                            "register",
                                                            "reinterpret_cast",
                                                            "requires",
                                                            "restrict",
                                                            "return",
                                                            "short",
                                                            "signed",
                                                            "sizeof",
                                                            "static",
                                                            "static_assert",
                                                            "static_cast",
                                                            "struct",
                                                            "switch",
                                                            "template",
                                                            "this",
                                                            "thread_local",
                                                            "throw",
                                                            "true",
                                                            "try",
                                                            "typedef",
                                                            "typeid",
                                                            "typename",
                                                            "union",
                                                            "unsigned",
                                                            "using",
                                                            "virtual",
                                                            "void",
                                                            "volatile",
                                                            "wchar_t",
                                                            "while",
                                                            "xor",
                                                            "xor_eq"});
constexpr auto kExpressionWords =
    std::to_array<std::string_view>({"min", "max", "abs", "ceil_div", "log2", "sqrt", "in"});
constexpr auto kOwnedSymbols =
    std::to_array<std::string_view>({"main", "malloc", "free", "calloc", "realloc", "memcpy", "memmove", "memset",
                                     "exit", "abort", "exp", "expf", "log", "logf", "sqrt", "sqrtf", "pow", "powf"});

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsIdentifier(std::string_view name, size_t most) {
  if (name.empty() || name.size() > most || !IsLetter(name[0])) return false;
  return std::ranges::all_of(name, [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

bool IsNumber(const ConfigNode& node) {
  return node.kind == Kind::kInteger || (node.kind == Kind::kReal && std::isfinite(node.real));
}
bool IsText(const ConfigNode& node) { return node.kind == Kind::kString; }
bool IsInteger(const ConfigNode& node) { return node.kind == Kind::kInteger; }
bool IsExpression(const ConfigNode& node) { return IsText(node) || IsNumber(node); }

template <typename Predicate>
bool ListOf(const ConfigNode& node, Predicate predicate) {
  return node.kind == Kind::kArray && std::ranges::all_of(node.items, predicate);
}

template <typename Predicate>
bool TableOf(const ConfigNode& node, Predicate predicate) {
  return node.kind == Kind::kTable &&
         std::ranges::all_of(node.entries, [&](const ConfigEntry& entry) { return predicate(entry.value); });
}

// What the value should have been; "" when it is right.
std::string Wanted(const SchemaKey& key, const ConfigNode& node) {
  const auto unless = [](bool right, std::string_view wanted) { return right ? std::string() : std::string(wanted); };
  switch (key.type) {
    case KeyType::kString:
      return unless(IsText(node), "a text in quotes");
    case KeyType::kInteger:
      return unless(IsInteger(node), "a whole number");
    case KeyType::kNumber:
      return unless(IsNumber(node), "a number");
    case KeyType::kBoolean:
      return unless(node.kind == Kind::kBoolean, "true or false");
    case KeyType::kStrings:
      return unless(ListOf(node, IsText), "a list of texts: [\"a\", \"b\"]");
    case KeyType::kIntegers:
      return unless(ListOf(node, IsInteger), "a list of whole numbers: [1, 2]");
    case KeyType::kDType: {
      if (IsText(node) && ParseDType(node.text)) return "";
      std::vector<std::string> names;
      for (const DTypeInfo& info : kDTypes) {
        if (!info.c_type.empty()) names.emplace_back(info.name);
      }
      return "one of " + Join(names, ", ");
    }
    case KeyType::kChoice: {
      if (IsText(node) && std::ranges::find(key.choices, node.text) != key.choices.end()) return "";
      const std::vector<std::string> choices(key.choices.begin(), key.choices.end());
      return "one of " + Join(choices, ", ");
    }
    case KeyType::kExpression:
      return unless(IsExpression(node), "an expression in quotes: \"2*M*N*K\"");
    case KeyType::kExpressions:
      return unless(ListOf(node, IsExpression), "a list of expressions: [\"M\", \"N + 1\"]");
    case KeyType::kGenerators:
      return unless(ListOf(node, IsText), "a list of generators: [\"normal(0, 1)\"]");
    case KeyType::kByteSize:
      return unless(IsInteger(node) || IsText(node), "a size: 4096 or \"32 MiB\"");
    case KeyType::kThreads:
      return unless(IsInteger(node) || (IsText(node) && node.text == "all"), "\"all\" or a number of threads");
    case KeyType::kStringOrNumber:
      return unless(IsText(node) || IsNumber(node), "a number, or a text in quotes");
    case KeyType::kTable:
      return unless(node.kind == Kind::kTable, "a table");
    case KeyType::kIntegerTable:
      return unless(TableOf(node, IsInteger), "a table of whole numbers: { M = 512 }");
    case KeyType::kNumberTable:
      return unless(TableOf(node, IsNumber), "a table of numbers: { scale = 0.5 }");
    case KeyType::kExpressionTable:
      return unless(TableOf(node, IsExpression), "a table of expressions: { H = \"H/KV\" }");
  }
  return "";
}

std::string Unknown(const SchemaTable& schema, std::string_view key) {
  std::vector<std::string> known;
  for (const SchemaKey& entry : schema.keys) known.emplace_back(entry.name);
  const std::string nearest = Nearest(key, known);
  if (!nearest.empty()) return fmt::format("unknown key; did you mean {}?", nearest);
  return fmt::format("unknown key; known here: {}", Join(known, ", "));
}

std::string Joined(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

}  // namespace

bool IsArgumentName(std::string_view name) {
  return IsIdentifier(name, 32) && !std::ranges::count(kReserved, name) && !std::ranges::count(kExpressionWords, name);
}

bool IsLabel(std::string_view name) {
  if (name.empty() || name.size() > 64 || !(IsLetter(name[0]) || IsDigit(name[0]))) return false;
  return std::ranges::all_of(name,
                             [](char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.'; });
}

bool IsSymbol(std::string_view name) {
  return IsIdentifier(name, 64) && !std::ranges::count(kReserved, name) && !std::ranges::count(kOwnedSymbols, name);
}

Result<Reader> Reader::Open(const std::string& file, const SchemaTable& schema, const ConfigNode& table,
                            std::string path, int line) {
  for (const ConfigEntry& entry : table.entries) {
    const std::string where = Joined(path, entry.key);
    const auto key = std::ranges::find(schema.keys, entry.key, &SchemaKey::name);
    if (key == schema.keys.end()) return ConfigError(file, entry.line, where, Unknown(schema, entry.key));
    const std::string wanted = Wanted(*key, entry.value);
    if (!wanted.empty()) return ConfigError(file, entry.line, where, fmt::format("wrong value; write {}", wanted));
    if (entry.value.items.size() > kMaxItems || entry.value.entries.size() > kMaxItems) {
      return ConfigError(file, entry.line, where, fmt::format("more than {} entries; shorten it", kMaxItems));
    }
  }
  for (const SchemaKey& key : schema.keys) {
    if (!key.required || table.Find(key.name) != nullptr) continue;
    return ConfigError(file, line, Joined(path, key.name), fmt::format("is missing; add it ({})", key.meaning));
  }
  Reader reader;
  reader.file_ = file;
  reader.path_ = std::move(path);
  reader.line_ = line;
  reader.table_ = &table;
  return reader;
}

const ConfigNode* Reader::Node(std::string_view key) const {
  const ConfigEntry* entry = table_->Find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

int Reader::LineOf(std::string_view key) const {
  const ConfigEntry* entry = table_->Find(key);
  return entry == nullptr ? line_ : entry->line;
}

std::string Reader::Text(std::string_view key, std::string_view otherwise) const {
  const ConfigNode* node = Node(key);
  return node == nullptr ? std::string(otherwise) : node->text;
}

int64_t Reader::Integer(std::string_view key, int64_t otherwise) const {
  const ConfigNode* node = Node(key);
  return node == nullptr ? otherwise : node->integer;
}

double Reader::Number(std::string_view key, double otherwise) const {
  const ConfigNode* node = Node(key);
  if (node == nullptr) return otherwise;
  return node->kind == Kind::kInteger ? static_cast<double>(node->integer) : node->real;
}

bool Reader::Truth(std::string_view key) const {
  const ConfigNode* node = Node(key);
  return node != nullptr && node->truth;
}

std::vector<std::string> Reader::Texts(std::string_view key) const {
  std::vector<std::string> texts;
  if (const ConfigNode* node = Node(key)) {
    for (const ConfigNode& item : node->items) texts.push_back(item.text);
  }
  return texts;
}

std::vector<int64_t> Reader::Integers(std::string_view key) const {
  std::vector<int64_t> integers;
  if (const ConfigNode* node = Node(key)) {
    for (const ConfigNode& item : node->items) integers.push_back(item.integer);
  }
  return integers;
}

Error Reader::At(std::string_view key, std::string_view what) const {
  return ConfigError(file_, LineOf(key), Joined(path_, key), what);
}

}  // namespace assay
