// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "base/unique_fd.h"
#include "sandbox/jailed_process.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

jail::JailPlan DescribeJail(const JailSpec& spec, const Limits& limits) {
  jail::JailPlan plan;
  plan.profile = jail::Profile::kBuild;
  plan.refuse_namespaces = spec.walls == WallMode::kWithoutNamespaces;
  plan.argv = spec.argv;
  plan.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  if (!spec.writable.empty()) plan.environment.push_back("TMPDIR=" + spec.writable.string());
  for (const auto& [name, value] : spec.environment) plan.environment.push_back(name + "=" + value);
  std::error_code ignored;
  for (const std::filesystem::path& path : spec.read_only) {
    // A merged /usr makes /lib and /bin links; they stay links inside.
    const bool link = std::filesystem::is_symlink(path, ignored) && std::filesystem::is_directory(path, ignored);
    if (link) {
      plan.links.push_back({std::filesystem::read_symlink(path, ignored), path});
    } else {
      plan.binds.push_back({path, path});
    }
  }
  plan.binds.push_back({"/dev/null", "/dev/null", true});
  if (!spec.writable.empty()) {
    plan.binds.push_back({spec.writable, spec.writable, true});
    plan.directory = spec.writable;
  }
  plan.cpus.assign(spec.cpus.begin(), spec.cpus.end());
  plan.address_space = limits.address_space;
  plan.cpu_seconds = static_cast<uint64_t>(limits.cpu.count());
  plan.file_size = limits.file_size;
  plan.descriptors = std::max<uint64_t>(limits.descriptors, 256);
  plan.stack = limits.stack;
  plan.processes = limits.processes;
  return plan;
}

// Reads what is there; false at the end of file.
bool Drain(int pipe, JailedRun& run, size_t cap) {
  char block[1 << 14];
  for (;;) {
    const ssize_t got = ::read(pipe, block, sizeof(block));
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    const size_t kept = std::min(static_cast<size_t>(got), cap - run.output.size());
    run.output.append(block, kept);
    if (kept < static_cast<size_t>(got)) run.output_cut = true;
  }
}

Outcome ToOutcome(const Ending& ending) {
  if (ending.code == CLD_EXITED) return Exited{ending.status};
  return Signaled{ending.status, std::nullopt};
}

Result<std::optional<Ending>> Watch(JailedProcess& process, int pipe, JailedRun& run, const Limits& limits) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.job(), 0)));
  if (!pidfd.valid()) return SystemError("pidfd_open", errno);
  const Clock::time_point deadline = Clock::now() + limits.wall;
  bool open = true;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return std::optional<Ending>();
    pollfd polls[2] = {{pidfd.get(), POLLIN, 0}, {open ? pipe : -1, POLLIN, 0}};
    if (::poll(polls, 2, static_cast<int>(left) + 1) < 0 && errno != EINTR) return SystemError("poll", errno);
    if (open && polls[1].revents != 0) open = Drain(pipe, run, limits.output);
    if (polls[0].revents == 0) continue;
    ASSAY_TRY(const std::optional<Ending> ending, process.Poll());
    if (ending) return ending;
  }
}

}  // namespace

std::vector<std::filesystem::path> ToolchainPaths() {
  std::vector<std::filesystem::path> paths;
  std::error_code ignored;
  for (const char* path : {"/usr", "/lib", "/lib64", "/lib32", "/libx32", "/bin", "/etc/alternatives"}) {
    if (std::filesystem::exists(path, ignored)) paths.emplace_back(path);
  }
  return paths;
}

Result<JailedRun> RunJailed(const JailSpec& spec, const Limits& limits) {
  if (spec.argv.empty() || spec.argv[0].empty() || spec.argv[0][0] != '/') {
    return Error{ErrorCode::kInvalidInput, "a jailed program is named by its absolute path"};
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return SystemError("pipe", errno);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  // The job's end must block: a compiler is not prepared for EAGAIN.
  ::fcntl(write_end.get(), F_SETFL, 0);
  JailedRun run{Exited{0}, "", false, 0, {}};
  const Clock::time_point begin = Clock::now();
  ASSAY_TRY(JailedProcess process, JailedProcess::Launch(DescribeJail(spec, limits), {}, write_end.get()));
  write_end.reset();
  ASSAY_TRY(const std::optional<Ending> ending, Watch(process, read_end.get(), run, limits));
  run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  run.walls = process.walls();
  process.Bury();
  // All writers are dead now, so this ends.
  Drain(read_end.get(), run, limits.output);
  run.outcome = ending ? ToOutcome(*ending) : Outcome(TimedOut{limits.wall});
  return run;
}

}  // namespace assay
