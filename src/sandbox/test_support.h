// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "sandbox/child.h"
#include "sandbox/programs.h"

// For tests only: shared objects from a few lines of C, and a second user to be.
namespace assay::testing {

// A folder that any user may read, with copies of our programs, since a build tree may lie where an
// ordinary user cannot go.
inline const std::filesystem::path& Workshop() {
  static const TemporaryFolder folder = [] {
    auto created = TemporaryFolder::Create("assay-sandbox-test");
    if (!created.ok()) std::abort();
    ::chmod(created.value().path().c_str(), 0755);
    for (const char* name : {"assay-jail", "assay-runner"}) {
      const auto program = FindProgram(name);
      if (!program.ok()) std::abort();
      std::filesystem::copy_file(program.value(), created.value().path() / name);
    }
    ::setenv("ASSAY_PROGRAMS", created.value().path().c_str(), 1);
    return std::move(created).value();
  }();
  return folder.path();
}

// The compiled object's path; empty (and a failed test) when it does not compile.
inline std::filesystem::path CompileShared(const std::string& source, const std::vector<std::string>& flags = {},
                                           bool cxx = false) {
  static int count = 0;
  const std::filesystem::path stem = Workshop() / ("object" + std::to_string(count++));
  const std::string file = stem.string() + (cxx ? ".cpp" : ".c");
  std::ofstream(file) << source;
  std::vector<std::string> argv = {
      cxx ? "g++" : "gcc",   "-O1", "-w", "-D_GNU_SOURCE", "-fopenmp", "-shared", "-fPIC", "-nostartfiles", "-o",
      stem.string() + ".so", file};
  argv.insert(argv.end(), flags.begin(), flags.end());
  ChildOptions options;
  options.capture = true;
  auto child = Child::Spawn(argv, options);
  if (!child.ok()) {
    ADD_FAILURE() << child.error().message;
    return {};
  }
  const auto outcome = child.value().Wait(std::chrono::seconds(60));
  if (!outcome.ok() || outcome.value() != Outcome(Exited{0})) {
    ADD_FAILURE() << child.value().output();
    return {};
  }
  return stem.string() + ".so";
}

// Runs `body` in a process of an ordinary user; what it returns comes back.  Empty: it went well.
// Only called while the test has one thread.
inline std::string AsOrdinaryUser(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "pipe";
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    constexpr unsigned kUser = 54321;
    std::string text = "cannot become another user";
    if (::geteuid() != 0 || (::setresgid(kUser, kUser, kUser) == 0 && ::setresuid(kUser, kUser, kUser) == 0))
      text = body();
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char block[4096];
  for (ssize_t got; (got = ::read(ends[0], block, sizeof(block))) > 0;) text.append(block, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status == 0 ? text : text + " (the user's process died with status " + std::to_string(status) + ")";
}

}  // namespace assay::testing
