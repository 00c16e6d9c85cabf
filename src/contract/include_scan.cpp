// SPDX-License-Identifier: Apache-2.0
#include "contract/include_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "contract/config.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSourceBytes = size_t{1} << 20;
constexpr size_t kMaxDepth = 16;
constexpr int kMaxIncludes = 256;

constexpr auto kStandard = std::to_array<std::string_view>(
    {"algorithm",   "array",     "assert.h",    "atomic",    "bit",           "bitset",        "cassert",
     "cctype",      "cerrno",    "cfenv",       "cfloat",    "chrono",        "cinttypes",     "climits",
     "cmath",       "compare",   "complex",     "complex.h", "concepts",      "cstdarg",       "cstddef",
     "cstdint",     "cstdio",    "cstdlib",     "cstring",   "ctime",         "ctype.h",       "deque",
     "errno.h",     "exception", "fenv.h",      "float.h",   "forward_list",  "functional",    "initializer_list",
     "inttypes.h",  "iterator",  "limits",      "limits.h",  "list",          "map",           "math.h",
     "memory",      "new",       "numbers",     "numeric",   "optional",      "queue",         "random",
     "ranges",      "ratio",     "set",         "span",      "stack",         "stdarg.h",      "stdbool.h",
     "stddef.h",    "stdexcept", "stdint.h",    "stdio.h",   "stdlib.h",      "string",        "string.h",
     "string_view", "tuple",     "type_traits", "typeinfo",  "unordered_map", "unordered_set", "utility",
     "valarray",    "variant",   "vector",      "omp.h"});

struct Include {
  int line;
  std::string text;  // what follows the word include, trimmed
  std::string directive;
};

// Comments become blanks and continued lines one line, with the number of the line on which each begins.
class SourceLines {
 public:
  explicit SourceLines(std::string_view source) : source_(source) {}

  bool Next(std::string& line, int& number) {
    line.clear();
    number = line_;
    if (at_ >= source_.size()) return false;
    bool quoted = false;
    while (at_ < source_.size()) {
      if (Takes("\\\n") || Takes("\\\r\n")) {
        ++line_;
      } else if (source_[at_] == '\n') {
        ++at_;
        ++line_;
        if (!in_comment_) return true;
      } else if (in_comment_) {
        if (Takes("*/")) {
          in_comment_ = false;
          line += ' ';
        } else {
          ++at_;
        }
      } else if (!quoted && Takes("/*")) {
        in_comment_ = true;
      } else if (!quoted && source_.substr(at_).starts_with("//")) {
        SkipLineComment();
      } else {
        if (source_[at_] == '"') quoted = !quoted;
        line += source_[at_++];
      }
    }
    return true;
  }

 private:
  bool Takes(std::string_view text) {
    if (!source_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  void SkipLineComment() {
    while (at_ < source_.size() && source_[at_] != '\n') {
      if (Takes("\\\n")) {
        ++line_;
      } else {
        ++at_;
      }
    }
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool in_comment_ = false;
};

std::vector<Include> IncludesOf(std::string_view source) {
  std::vector<Include> includes;
  SourceLines lines(source);
  std::string line;
  int number = 0;
  while (lines.Next(line, number)) {
    std::string_view rest = Trim(line);
    if (rest.starts_with("%:")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with("#")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    rest = Trim(rest);
    for (const std::string_view directive : {"include_next", "include", "import", "embed"}) {
      if (!rest.starts_with(directive)) continue;
      includes.push_back({number, std::string(Trim(rest.substr(directive.size()))), std::string(directive)});
      break;
    }
  }
  return includes;
}

class Scan {
 public:
  explicit Scan(fs::path root) : root_(std::move(root)) {}

  Status File(const fs::path& file) {
    const Result<std::string> source = ReadFile(file, kMaxSourceBytes);
    if (!source.ok())
      return ConfigError(Shown(file), 1, "file", source.error().message + "; make it readable and smaller");
    if (source.value().find('\0') != std::string::npos)
      return ConfigError(Shown(file), 1, "file", "holds a NUL byte; it is no source text");
    path_.push_back(file);
    for (const Include& include : IncludesOf(source.value())) ASSAY_TRY_STATUS(Line(file, include));
    path_.pop_back();
    done_[file] = true;
    return Ok();
  }

 private:
  std::string Shown(const fs::path& file) const { return file.string(); }

  Status Line(const fs::path& file, const Include& include) {
    const auto here = [&](std::string_view what) {
      return ConfigError(Shown(file), include.line, "#" + include.directive, what);
    };
    if (include.directive != "include") return here("is not allowed here; use #include");
    if (++includes_ > kMaxIncludes) return here(fmt::format("more than {} includes; merge files", kMaxIncludes));
    const std::string_view text = include.text;
    const char close = text.starts_with('<') ? '>' : text.starts_with('"') ? '"' : '\0';
    const size_t end = close == '\0' ? std::string_view::npos : text.find(close, 1);
    if (end == std::string_view::npos) return here("needs <name> or \"file\"; a macro cannot be followed");
    const std::string_view name = text.substr(1, end - 1);
    if (close == '>') {
      if (name.starts_with("assay/") && name.find("..") == std::string_view::npos) return Ok();
      if (std::ranges::count(kStandard, name) > 0) return Ok();
      return here(fmt::format("<{}> is no standard header and not <assay/...>; a reference needs neither", name));
    }
    return Quoted(file, name, here);
  }

  template <typename Here>
  Status Quoted(const fs::path& file, std::string_view name, const Here& here) {
    const fs::path wanted = file.parent_path() / fs::path(name);
    std::error_code failed;
    if (!fs::path(name).is_relative())
      return here("an absolute path is not part of the contract; copy the file into the folder");
    if (!fs::exists(wanted, failed))
      return here(fmt::format("\"{}\" does not exist; write it or remove the line", name));
    if (!IsInside(root_, wanted))
      return here(fmt::format("\"{}\" lies outside of the contract's folder; copy it in", name));
    const fs::path target = fs::canonical(wanted, failed);
    if (failed || !fs::is_regular_file(target, failed))
      return here(fmt::format("\"{}\" is no file; remove the line", name));
    const auto open = std::ranges::find(path_, target);
    if (open != path_.end()) {
      std::string circle;
      for (auto it = open; it != path_.end(); ++it) circle += it->filename().string() + " -> ";
      return here(fmt::format("includes run in a circle: {}{}; break it", circle, target.filename().string()));
    }
    if (done_[target]) return Ok();
    if (path_.size() >= kMaxDepth)
      return here(fmt::format("includes are nested deeper than {}; merge files", kMaxDepth));
    return File(target);
  }

  fs::path root_;
  std::vector<fs::path> path_;
  std::map<fs::path, bool> done_;
  int includes_ = 0;
};

}  // namespace

bool IsInside(const fs::path& root, const fs::path& path) {
  std::error_code failed;
  const fs::path real_root = fs::canonical(root, failed);
  if (failed) return false;
  const fs::path real = fs::canonical(path, failed);
  if (failed) return false;
  const fs::path relative = real.lexically_relative(real_root);
  return !relative.empty() && relative.begin()->string() != "..";
}

Status ScanIncludes(const fs::path& root, const fs::path& file) {
  std::error_code failed;
  const fs::path real_root = fs::canonical(root, failed);
  const fs::path real_file = fs::canonical(file, failed);
  if (failed) return ConfigError(file.string(), 1, "file", "cannot be read; make it readable");
  return Scan(real_root).File(real_file);
}

}  // namespace assay
