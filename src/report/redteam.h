// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "record/redteam.h"

namespace assay {

// "caches.cpp WHERE=1 seed 3", for a line of its own or a table cell.
std::string CaseLabel(const RedteamCase& one, bool with_seed);

// "rejected wrong_answer, GOT THROUGH": the outcome and what is wrong with it, if anything.
std::string CaseOutcome(const RedteamCase& one);

// class -> outcome -> check -> seconds, a row for each different end of a file over its seeds, and a
// summary that names what went astray.  No wider than `width`.
std::string RedteamText(const RedteamRun& run, size_t width);

// JUnit XML, a suite for each class: a failure is what went astray, an error what could not run.
std::string RedteamJUnit(const RedteamRun& run);

}  // namespace assay
