// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

// One parameter of a C function, as far as a contract needs to know it.
struct CParameter {
  std::string name;
  std::string type;  // base type as written, without const, restrict and stars: "float", "int64_t"
  bool pointer = false;
  bool const_target = false;  // const float* x
  int line = 0;
};

struct CSignature {
  std::string symbol;
  int line = 0;  // of the definition
  std::vector<CParameter> parameters;
};

// Finds the definition (else the declaration) of `symbol` in a C or C++ source and reads its
// parameters.  A tolerant reader, not a compiler: comments, attributes, extern "C" blocks and line
// breaks are understood; macros, templates and typedefs are not, and the error says so.
Result<CSignature> ReadSignature(std::string_view source, std::string_view symbol, const std::filesystem::path& file);

// contract.toml for that function, with `# FILL IN` where a signature cannot tell.
Result<std::string> DraftContract(const CSignature& signature, std::string_view contract_name);

// baseline.cpp that gives the user's file the contract's symbol and types.
std::string DraftBaseline(std::string_view source, const CSignature& signature);

// reference.h: the user's function with every floating type replaced by the number type of the
// reference, one call for the whole tensor (`slice = []`).
Result<std::string> WidenedReference(std::string_view source, const CSignature& signature);

}  // namespace assay
