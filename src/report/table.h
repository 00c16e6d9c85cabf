// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace assay {

// Rows of cells as aligned plain text.  Numbers (a digit, sign or dot first) are right-aligned; the
// last column is cut so that no line is wider than `width`.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string Render(size_t width, const std::string& indent = "  ") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Characters of UTF-8 text as a terminal counts them (no wide characters are used here).
size_t DisplayWidth(const std::string& text);

// Greedy wrapping at blanks; lines begin with `first`, then with `rest`.
std::string Wrap(const std::string& text, size_t width, const std::string& first, const std::string& rest);

}  // namespace assay
