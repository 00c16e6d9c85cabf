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
  std::string version;              // "g++ 12.2.0"
  Digest identity;                  // of the compiler's binaries, version, and what -march=native resolves to
  std::vector<std::string> common;  // options that every build with it gets
};

// g++, asked once a process.
const Result<Toolchain>& PrimaryToolchain();
// A clang++.  It compiles `omp simd` and leaves the other OpenMP pragmas out: its own runtime would
// be a second team beside the runner's, with files to open and threads beyond the budget.  So its
// artifacts run on one thread; they may reject a kernel and never admit one.  The error says what
// is missing.
const Result<Toolchain>& SecondToolchain();

// Whether the compiler or one of the small C headers defines this macro before a kernel's first line.
bool IsMacro(const std::string& name);

// Where GCC and Clang differ: the options as this compiler takes them, those it lacks dropped.
std::vector<std::string> FlagsFor(const Toolchain& toolchain, const std::vector<std::string>& flags);

// A shared library that a contract may allow, as found on this machine.
struct AllowedLibrary {
  std::string name;       // as in a contract: "openblas"
  std::string link_flag;  // "-lopenblas"
  std::string soname;
  std::vector<std::filesystem::path> files;  // the library and what it needs, to be bound one by one
};
Result<AllowedLibrary> FindLibrary(std::string_view name);

// The address sanitizer's runtime of the primary compiler.  The error says what is missing.
Result<std::filesystem::path> SanitizerRuntime();

// The C, C++ and OpenMP runtimes, which are there in every jail.
bool IsRuntimeLibrary(std::string_view soname);

}  // namespace assay
