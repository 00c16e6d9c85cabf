// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/outcome.h"

namespace assay {

struct ChildOptions {
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; absent: inherited
  std::filesystem::path directory;                      // empty: inherited
  bool capture = false;                                 // keep standard output and error, else both go to /dev/null
  size_t output_cap = size_t{64} << 10;
};

// A process group that this object must bury: whatever path leaves the scope, no child outlives it.
// Not a jail: for programs that are trusted, or that jail themselves.
class Child {
 public:
  // argv[0] is looked up in PATH.  Error: it could not be started at all.
  static Result<Child> Spawn(const std::vector<std::string>& argv, const ChildOptions& options = {});

  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        pipe_(std::move(other.pipe_)),
        output_(std::move(other.output_)),
        output_cap_(other.output_cap_) {}
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }

  // Error: the harness could not watch the process.  Outcome: what it did.  At most once.
  Result<Outcome> Wait(std::chrono::milliseconds limit);

  // What was captured until Wait returned, cut at the cap.
  const std::string& output() const { return output_; }

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  int KillGroupAndReap();
  void Drain();

  pid_t pid_ = -1;
  UniqueFd pipe_;
  std::string output_;
  size_t output_cap_ = 0;
};

}  // namespace assay
