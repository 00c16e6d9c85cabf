// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay {

struct Library {
  std::string name;              // as the loader asks for it
  std::filesystem::path source;  // the file itself, no symbolic link
};

// The shared libraries behind `roots` (files, or bare names to be looked up) and all that they need,
// each once.  What does not exist is an Error.
Result<std::vector<Library>> ResolveLibraries(std::span<const std::filesystem::path> roots);

// The same for the runner and for what a candidate may link by itself: C, math, vector math, OpenMP,
// GCC's and the C++ runtime.
Result<std::vector<Library>> RuntimeLibraries(const std::filesystem::path& runner);

// The dynamic loader that a program names, for example /lib64/ld-linux-x86-64.so.2.
Result<std::string> LoaderOf(const std::filesystem::path& program);

}  // namespace assay
