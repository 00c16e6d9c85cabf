// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// What a value of a key must look like; the parser checks it before anybody reads the value.
enum class KeyType {
  kString,
  kInteger,
  kNumber,
  kBoolean,
  kStrings,
  kIntegers,
  kChoice,
  kDType,
  kExpression,
  kExpressions,
  kGenerators,
  kByteSize,
  kThreads,
  kStringOrNumber,
  kTable,
  kIntegerTable,
  kNumberTable,
  kExpressionTable,
};

struct SchemaKey {
  std::string_view name;
  KeyType type;
  bool required;
  std::string_view default_text;  // for the reader; "" = none
  std::string_view meaning;
  std::vector<std::string_view> choices = {};  // kChoice
};

// One kind of table: "" is the top level, "axis" stands for every [axis.NAME].
struct SchemaTable {
  std::string_view name;
  bool named;  // a table of tables by name
  std::string_view meaning;
  std::vector<SchemaKey> keys;
};

// The whole format, in one place: the parser and the reference page both read it.
std::span<const SchemaTable> Schema();
const SchemaTable& SchemaOf(std::string_view table);

// The tables of docs/contract.md.
std::string SchemaMarkdown();

}  // namespace assay
