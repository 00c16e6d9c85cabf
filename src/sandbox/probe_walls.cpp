// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>

#include "base/text.h"
#include "sandbox/jail.h"
#include "sandbox/libraries.h"
#include "sandbox/programs.h"
#include "sandbox/session.h"
#include "sandbox/walls.h"

namespace assay {
namespace {

// The names that the probing program found to hold.
Result<std::pair<Walls, std::set<std::string>>> TryTheJail(WallMode mode) {
  ASSAY_TRY(const std::filesystem::path program, FindProgram("assay-jail"));
  JailSpec spec;
  spec.argv = {program.string(), "--probe"};
  spec.read_only = {program};
  spec.walls = mode;
  ASSAY_TRY(const JailedRun run, RunJailed(spec, Limits{}));
  if (run.outcome != Outcome(Exited{0})) {
    return Error{ErrorCode::kUnavailable, "the probe of the walls did not run: " + Describe(run.outcome)};
  }
  std::set<std::string> held;
  for (const std::string_view line : Split(run.output, '\n')) {
    if (line.ends_with(" 1")) held.emplace(line.substr(0, line.size() - 2));
  }
  return std::pair(run.walls, std::move(held));
}

// The math library is a shared object that is there on every machine and does no harm.
Result<Walls> TryTheRunner(WallMode mode) {
  const std::filesystem::path roots[] = {"libm.so.6"};
  ASSAY_TRY(const std::vector<Library> libraries, ResolveLibraries(roots));
  SessionSpec spec;
  spec.artifact = libraries.front().source;
  spec.symbols = {"cos"};
  spec.walls = mode;
  ASSAY_TRY(const StartOutcome started, Session::Start(spec));
  const auto* session = std::get_if<Session>(&started);
  if (session == nullptr) return Error{ErrorCode::kUnavailable, "the runner did not start"};
  return session->walls();
}

}  // namespace

Result<Walls> ProbeWalls(WallMode mode) {
  ASSAY_TRY(const auto jail, TryTheJail(mode));
  ASSAY_TRY(Walls walls, TryTheRunner(mode));
  const auto held = [&jail](const char* name) { return jail.second.contains(name); };
  walls.pid_namespace = walls.pid_namespace && held("pid");
  walls.empty_root = walls.empty_root && held("root");
  walls.network_namespace = walls.network_namespace && held("net");
  walls.uts_namespace = walls.uts_namespace && held("uts");
  if (!held("landlock")) walls.landlock = 0;
  walls.seccomp = walls.seccomp && jail.first.seccomp && held("seccomp");
  walls.no_new_privileges = walls.no_new_privileges && held("nnp");
  walls.resource_limits = walls.resource_limits && held("rlimits");
  return walls;
}

}  // namespace assay
