// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "contract/contract.h"

namespace assay {

// "ladder(1e-4, 1e4)".  The error names the generator and what it takes, without a file.
Result<Generator> ParseGenerator(std::string_view text);
// A scalar's regime: a generator, or an expression over axes ("1/sqrt(D)").
Result<Generator> ParseScalarRegime(std::string_view text);

// The numbers of a generator at a shape, and whether they make sense (a <= b, 0 <= share <= 1, ...).
Result<std::vector<double>> GeneratorNumbers(const Generator& generator, const Names& names);

// For docs/contract.md: one row per generator.
std::string GeneratorMarkdown();

}  // namespace assay
