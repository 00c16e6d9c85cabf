// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace assay {

// Code that a contract's author wrote and that we run, in a jail, to know what is asked for: the
// reference, and what fills inputs.
struct AuthorCode {
  std::string what;            // "reference", for errors and the cache
  std::filesystem::path file;  // the author's; its folder is searched for includes
  std::string source;          // the translation unit around it
  std::string symbol;          // the one that is called
};

// The shared object of this code, from the cache or built now.  kInvalidInput, with the compiler's
// words: it does not compile.
Result<std::filesystem::path> BuildAuthorCode(const AuthorCode& code, const std::filesystem::path& cache);

// The folder that holds assay/reference.h: of the source tree, else beside the program.
Result<std::filesystem::path> ReferenceHeaders();

}  // namespace assay
