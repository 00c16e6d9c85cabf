// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "language/cpp/policy.h"
#include "language/cpp/toolchain.h"
#include "record/verdict.h"

namespace assay {

// One translation unit to one shared object.
struct CompileJob {
  const Toolchain* toolchain = nullptr;
  std::string source;
  std::string header;                        // text of <assay/contract.h>; empty = none
  std::vector<std::string> flags;            // after those that every build gets
  std::vector<std::string> include_folders;  // bound into the jail; empty for candidates
  std::vector<std::string> link_flags;       // "-lopenblas"
  bool sanitized = false;                    // links the address sanitizer's runtime
  FilePolicy policy;
  // Processor time of a step, so that a busy machine does not fail what an idle one builds; the wall
  // clock ends it at kWallTimes as much.
  std::chrono::seconds limit{20};
  std::string limit_reason;      // for the evidence of a time-out
  int64_t date = 1'000'000'000;  // what __DATE__ and __TIME__ see
};

inline constexpr int kWallTimes = 6;

struct CompiledFile {
  std::string bytes;
  std::vector<std::string> command;  // of the compile step
  double seconds = 0;
};
using CompileOutcome = std::variant<CompiledFile, Rejected>;

// Compiles and links in two jails with the policy's checks between and after.
Result<CompileOutcome> Compile(const CompileJob& job);

// The compile step's arguments; what an artifact's name must cover.
std::vector<std::string> CompileCommand(const CompileJob& job);

}  // namespace assay
