// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sandbox/limits.h"
#include "sandbox/outcome.h"
#include "sandbox/walls.h"

namespace assay {

// One program in the build profile: processes allowed, no network, nothing readable but `read_only`
// and nothing writable but `writable`.  All paths mean the same inside and outside.
struct JailSpec {
  std::vector<std::string> argv;                                 // argv[0] is an absolute path
  std::vector<std::filesystem::path> read_only;                  // files or folders; see ToolchainPaths()
  std::filesystem::path writable;                                // also the working directory and TMPDIR; may be empty
  std::vector<std::pair<std::string, std::string>> environment;  // all that there is, besides PATH, TMPDIR, LC_ALL=C
  std::vector<int> cpus;                                         // empty: inherited
  WallMode walls = WallMode::kAll;
};

struct JailedRun {
  Outcome outcome;
  std::string output;  // standard output and error as they came, at most Limits::output bytes
  bool output_cut = false;
  double seconds = 0;
  Walls walls;
};

// What a compiler needs to read: /usr, /lib*, /bin, /etc/alternatives, as far as they exist.
std::vector<std::filesystem::path> ToolchainPaths();

// Runs it to its end or to Limits::wall.  May be called by several threads at once.  When it
// returns, no process of the jail lives any more.
Result<JailedRun> RunJailed(const JailSpec& spec, const Limits& limits);

}  // namespace assay
