// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace assay {
namespace {

bool LooksNumeric(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) != 0 || cell[0] == '.' || cell == "-");
}

std::string CutTo(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  if (width < 2) return "";
  std::string cut;
  size_t shown = 0;
  for (const char c : text) {
    const bool starts = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (starts && ++shown > width - 2) break;
    cut += c;
  }
  return cut + "..";
}

}  // namespace

size_t DisplayWidth(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Wrap(const std::string& text, size_t width, const std::string& first, const std::string& rest) {
  std::string out;
  for (const std::string_view paragraph : Split(text, '\n')) {
    std::string line = out.empty() ? first : rest;
    for (const std::string_view word : Split(paragraph, ' ')) {
      if (word.empty()) continue;
      const bool fresh = line == first || line == rest;
      if (!fresh && DisplayWidth(line) + 1 + DisplayWidth(std::string(word)) > width) {
        out += line + "\n";
        line = rest;
      }
      line += (line == first || line == rest ? "" : " ") + std::string(word);
    }
    out += line + "\n";
  }
  return out;
}

std::string TextTable::Render(size_t width, const std::string& indent) const {
  const size_t columns = rows_[0].size();
  std::vector<size_t> widths(columns, 0);
  std::vector<bool> numeric(columns, true);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < columns && c < rows_[r].size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(rows_[r][c]));
      if (r > 0 && !LooksNumeric(rows_[r][c])) numeric[c] = false;
    }
  }
  size_t used = DisplayWidth(indent);
  for (size_t c = 0; c + 1 < columns; ++c) used += widths[c] + 2;
  const size_t last = width > used ? width - used : 2;
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t c = 0; c < columns; ++c) {
      const std::string cell = c < row.size() ? (c + 1 == columns ? CutTo(row[c], last) : row[c]) : "";
      const size_t pad = widths[c] > DisplayWidth(cell) ? widths[c] - DisplayWidth(cell) : 0;
      if (numeric[c]) line += std::string(pad, ' ') + cell;
      if (!numeric[c]) line += cell + std::string(pad, ' ');
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace assay
