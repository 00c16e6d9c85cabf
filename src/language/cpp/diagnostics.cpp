// SPDX-License-Identifier: Apache-2.0
#include "language/cpp/diagnostics.h"

#include "base/text.h"

namespace assay {
namespace {

constexpr size_t kMaxEvidence = 2000;

// "   12 |   code" and "      |   ^~~": lines that belong to the message before them.
bool Quotes(std::string_view line) {
  const size_t bar = line.find('|');
  return bar != std::string_view::npos && bar <= 8 &&
         line.substr(0, bar).find_first_not_of(" 0123456789") == std::string_view::npos;
}

bool Mentions(std::string_view line, std::string_view word) { return line.find(word) != std::string_view::npos; }

}  // namespace

std::string OwnMessages(std::string_view output, std::string_view source_name) {
  std::string own, rest;
  bool keep = false;
  for (std::string_view line : Split(output, '\n')) {
    if (Trim(line).empty()) continue;
    if (Quotes(line)) {
      if (keep) own.append(line).push_back('\n');
      continue;
    }
    // "candidate.cpp:12:3: error: ..." and "candidate.cpp: In function ..."; the linker puts its own
    // name and the object before the source's.
    const bool linker = Mentions(line, "undefined reference to") || Mentions(line, "multiple definition of");
    keep = line.starts_with(source_name) || linker;
    if (keep) {
      own.append(linker && Mentions(line, source_name) ? line.substr(line.find(source_name)) : line).push_back('\n');
    } else if (Mentions(line, "error") || Mentions(line, "fatal") || Mentions(line, "out of memory")) {
      // Kept for the case that nothing speaks of the source: the compiler itself gave up.
      rest.append(line.substr(0, 200)).push_back('\n');
    }
  }
  const std::string& chosen = own.empty() ? rest : own;
  std::string printable;
  for (std::string_view line : Split(chosen, '\n')) {
    if (line.empty()) continue;
    if (!printable.empty()) printable.push_back('\n');
    printable += Printable(line);
  }
  return Cut(printable, kMaxEvidence);
}

}  // namespace assay
