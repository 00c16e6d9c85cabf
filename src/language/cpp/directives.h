// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "contract/contract.h"
#include "language/cpp/flags.h"
#include "record/candidate.h"

namespace assay {

// Reads a kernel source and its `assay:` directives (grammar: docs/contract.md).  Errors are
// kInvalidInput with the text `FILE:LINE: directive: what is wrong; remedy`.
Result<Template> ReadTemplate(const std::filesystem::path& path, const Contract& contract);

// The same for a source that is already in memory; `path` only names it.
Result<Template> ParseTemplate(std::string source, const std::filesystem::path& path, const Contract& contract);

// What a source says of itself as far as it can be read without a contract: a file of a corpus may name
// there the contract that it was written for, and one that no contract takes has an expectation too.
struct SourceHead {
  std::vector<std::string> notes;  // the texts behind `assay:note`
  std::optional<Expectation> expectation;
  bool understood = true;  // false: there is an `assay:expect` that nobody could mean
};
SourceHead ReadHead(std::string_view source);

// One point of the family: defaults filled in, inactive knobs dropped, `when` checked, named by
// content.  Each flag replaces the default of its group; a flag of no group is added as it is.
// The error names knob, value and the legal values.
Result<Candidate> MakeCandidate(const Template& family, const KnobValues& set, std::vector<std::string> flags);

// `-DNAME=value` of every active knob; a word as its number, with `-DNAME_word=number` for each word.
std::vector<std::string> KnobDefinitions(const Template& family, const Candidate& candidate);

}  // namespace assay
