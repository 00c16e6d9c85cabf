// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

struct ConfigEntry;

// A parsed contract.toml as plain values with the line of each: the rest of the room does not know
// which TOML library read it.
struct ConfigNode {
  enum class Kind { kString, kInteger, kReal, kBoolean, kArray, kTable, kOther };
  Kind kind = Kind::kOther;
  int line = 0;
  std::string text;
  int64_t integer = 0;
  double real = 0;
  bool truth = false;
  std::vector<ConfigNode> items;     // kArray
  std::vector<ConfigEntry> entries;  // kTable, in the order of the file

  const ConfigEntry* Find(std::string_view key) const;
};

struct ConfigEntry {
  std::string key;
  int line = 0;
  ConfigNode value;
};

// `file` is only for the text of errors.
Result<ConfigNode> ParseConfig(std::string_view text, const std::string& file);

// The form of every error of this room: `FILE:LINE: KEY: what is wrong; remedy`.
Error ConfigError(const std::string& file, int line, std::string_view key, std::string_view what);

}  // namespace assay
