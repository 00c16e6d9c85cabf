// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.h"

namespace assay {

// What a finished file may be: which names it exports, which libraries it needs.
struct FilePolicy {
  std::vector<std::string> required_exports;
  std::vector<std::string> allowed_exports;   // besides the required ones
  std::vector<std::string> needed_libraries;  // sonames, besides the C, C++ and OpenMP runtimes
  bool trusted_code = false;                  // baselines, peers: only the exports are checked
};
FilePolicy PolicyFor(const Contract& contract, bool trusted_code, std::span<const std::string> library_sonames);

// Each returns nothing when the bytes are acceptable, else what is there and what to do.
// They read a hostile file: every offset in it is checked before it is followed.

// The relocatable object before linking: a name with C linkage besides the entries would stand in
// for a function of the C library inside this object.
std::optional<std::string> CheckObject(std::string_view bytes, const FilePolicy& policy);
// The shared object that will be mapped, as the loader reads it (loader_view.h), whoever linked it: no code before the
// first call (constructors, IFUNC), no TLS, no text relocations, no foreign needed libraries, no executable stack, no
// W+X segment, no relocation but into its own data, nothing that the loader might do besides.
std::optional<std::string> CheckSharedObject(std::string_view bytes, const FilePolicy& policy);
// Which of the required entries such a file lacks.
std::optional<std::string> FindMissingEntry(std::string_view bytes, const FilePolicy& policy);

// The source: which headers it includes or asks for, pragmas that look at files, and assembler that
// leaves its section or reads files.
std::optional<std::string> CheckSource(std::string_view source);
// Whether macros may make the assembler's text (`#word`): then it is read again after preprocessing.
bool MakesAssemblerText(std::string_view source);
// The assembler in what the preprocessor made of the file `name`; text from headers is left aside.
std::optional<std::string> CheckExpanded(std::string_view expanded, std::string_view name);

}  // namespace assay
