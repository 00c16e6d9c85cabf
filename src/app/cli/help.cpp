// SPDX-License-Identifier: Apache-2.0
#include "app/cli/help.h"

#include "base/text.h"

namespace assay {

std::string HelpFor(std::string_view command) {
  const std::string wanted = command.empty() ? "# assay" : "## assay " + std::string(command);
  std::string out;
  bool inside = false;
  for (const std::string_view line : Split(kCliHelp, '\n')) {
    const bool heading = line.starts_with("# ") || line.starts_with("## ");
    if (heading) {
      inside = Trim(line) == wanted;
      continue;
    }
    if (!inside || line.starts_with("```") || line.starts_with("<!--")) continue;
    out += line;
    out += '\n';
  }
  const size_t first = out.find_first_not_of('\n');
  if (first == std::string::npos) return "";
  out.erase(0, first);
  out.erase(out.find_last_not_of('\n') + 1);
  return out + "\n";
}

}  // namespace assay
