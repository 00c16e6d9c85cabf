// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace assay {

enum class CompilerFamily { kGcc, kClang };

// One compiler of this machine, with all that an artifact's name must depend on.
struct Toolchain {
  CompilerFamily family = CompilerFamily::kGcc;
  std::filesystem::path compiler;
  std::string version;        // "g++ 12.2.0"
  Digest identity;            // of the compiler's binaries, version, and what -march=native resolves to
  std::vector<std::string> predefined_macros;  // sorted names
  std::vector<std::filesystem::path> runtimes; // its OpenMP runtime where that is not libgomp
};

// g++, asked once a process.
const Result<Toolchain>& PrimaryToolchain();
// A clang++ that has OpenMP; the error says what is missing.
const Result<Toolchain>& SecondToolchain();

// Where GCC and Clang differ: the options as this compiler takes them, those it lacks dropped.
std::vector<std::string> FlagsFor(const Toolchain& toolchain, const std::vector<std::string>& flags);

// A shared library that a contract may allow, as found on this machine.
struct Library {
  std::string name;      // as in a contract: "openblas"
  std::string link_flag; // "-lopenblas"
  std::string soname;
  std::vector<std::filesystem::path> files;  // the library and what it needs, to be bound one by one
};
Result<Library> FindLibrary(std::string_view name);

}  // namespace assay
