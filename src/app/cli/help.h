// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace assay {

extern const char* const kCliHelp;  // docs/cli.md

// The section of docs/cli.md that belongs to `command` ("run", "contract check"; "" = the overview),
// as plain text: headings without their marks, code fences dropped.
std::string HelpFor(std::string_view command);

}  // namespace assay
