// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// Columns of the terminal on standard output; 80 without one.
size_t OutputWidth();
bool OutputIsTerminal();

// `text` as it is; standard output.
void Print(std::string_view text);
// For a person while something runs; standard error, so that --json - stays clean.
void Say(std::string_view text);

// --json FILE: "-" is standard output, "" does nothing, else a file written whole or not at all; into a device or a
// pipe it is just written.
Status WriteJson(const std::string& target, std::string_view json);
// That what a long command will have to say can be written where it is asked to, before it begins.
Status CheckTargets(std::initializer_list<std::string> targets);

}  // namespace assay
