// SPDX-License-Identifier: Apache-2.0
#include "contract/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace assay {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 10;
constexpr size_t kMaxDepth = 16;

struct Position {
  int line = 1;
  size_t depth = 0;
};

// The TOML library builds and destroys its tree by recursion, so a file of brackets or of dotted keys
// could end the process.  This scan bounds both before the library sees the text.  It knows strings
// and comments just well enough for that: a mistake here can only refuse, never let through.
std::optional<Position> TooDeep(std::string_view text) {
  size_t brackets = 0, dots = 0;
  int line = 1;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      quote = '\0';
      dots = 0;
    } else if (quote != '\0') {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = '\0';
    } else if (c == '#') {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      dots = 0;
      if (++brackets > kMaxDepth) return Position{line, brackets};
    } else if (c == ']' || c == '}') {
      dots = 0;
      if (brackets > 0) --brackets;
    } else if (c == ',' || c == '=') {
      dots = 0;
    } else if (c == '.' && ++dots > kMaxDepth) {
      return Position{line, dots};
    }
  }
  return std::nullopt;
}

int LineOf(const toml::source_region& region) { return static_cast<int>(region.begin.line); }

ConfigNode Convert(const toml::node& node);

ConfigNode ConvertTable(const toml::table& table) {
  ConfigNode out;
  out.kind = ConfigNode::Kind::kTable;
  struct Placed {
    toml::source_position at;
    ConfigEntry entry;
  };
  std::vector<Placed> placed;
  for (const auto& [key, value] : table) {
    placed.push_back({key.source().begin, ConfigEntry{std::string(key.str()), LineOf(key.source()), Convert(value)}});
  }
  // The library sorts by name; the first workload of the file is the headline.
  std::ranges::stable_sort(placed, [](const Placed& a, const Placed& b) { return a.at < b.at; });
  for (Placed& p : placed) out.entries.push_back(std::move(p.entry));
  return out;
}

ConfigNode Convert(const toml::node& node) {
  ConfigNode out;
  if (const auto* table = node.as_table()) {
    out = ConvertTable(*table);
  } else if (const auto* array = node.as_array()) {
    out.kind = ConfigNode::Kind::kArray;
    for (const toml::node& item : *array) out.items.push_back(Convert(item));
  } else if (const auto* text = node.as_string()) {
    out.kind = ConfigNode::Kind::kString;
    out.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = ConfigNode::Kind::kInteger;
    out.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    out.kind = ConfigNode::Kind::kReal;
    out.real = real->get();
  } else if (const auto* truth = node.as_boolean()) {
    out.kind = ConfigNode::Kind::kBoolean;
    out.truth = truth->get();
  }
  out.line = LineOf(node.source());
  return out;
}

}  // namespace

const ConfigEntry* ConfigNode::Find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &ConfigEntry::key);
  return found == entries.end() ? nullptr : &*found;
}

Error ConfigError(const std::string& file, int line, std::string_view key, std::string_view what) {
  return Error{ErrorCode::kInvalidInput, fmt::format("{}:{}: {}: {}", file, std::max(line, 1), Printable(Cut(key, 80)),
                                                     Printable(Cut(what, 600)))};
}

Result<ConfigNode> ParseConfig(std::string_view text, const std::string& file) {
  if (text.size() > kMaxBytes) {
    return ConfigError(file, 1, "file",
                       fmt::format("{} bytes are no contract; at most {} are read", text.size(), kMaxBytes));
  }
  if (const auto deep = TooDeep(text)) {
    return ConfigError(file, deep->line, "nesting",
                       fmt::format("deeper than {} levels; no key of the format is", kMaxDepth));
  }
  try {
    const toml::table table = toml::parse(text);
    return ConvertTable(table);
  } catch (const toml::parse_error& error) {
    return ConfigError(file, LineOf(error.source()), "syntax",
                       fmt::format("{}; correct the TOML", error.description()));
  } catch (const std::exception& error) {
    return ConfigError(file, 1, "syntax", fmt::format("{}; correct the TOML", error.what()));
  }
}

}  // namespace assay
