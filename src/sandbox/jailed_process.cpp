// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jailed_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "sandbox/calls.h"
#include "sandbox/programs.h"

namespace assay {
namespace {

constexpr int kLaunchLimitMs = 20'000;

// An id that nothing else on the machine has: a high range, this process, a count.
uint32_t FreshUser() {
  static std::atomic<uint32_t> count{0};
  return 0x60000000U | (static_cast<uint32_t>(::getpid()) & 0x3fffU) << 14 | (count.fetch_add(1) & 0x3fffU);
}

// Kernels and policies exist that grant the namespace and then refuse its map; learnt once.
std::atomic<bool> namespaces_refused{false};

struct SocketPair {
  UniqueFd ours, theirs;
};

Result<SocketPair> MakeSockets() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return SystemError("socketpair", errno);
  return SocketPair{UniqueFd(pair[0]), UniqueFd(pair[1])};
}

Result<UniqueFd> MakeMessageFile(const std::string& bytes) {
  UniqueFd fd(::memfd_create("assay-plan", MFD_CLOEXEC));
  if (!fd.valid()) return SystemError("memfd_create", errno);
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return SystemError("write the plan", errno);
  return fd;
}

Status SendDescriptors(int socket, const void* bytes, size_t size, std::span<const int> fds) {
  std::vector<char> control(CMSG_SPACE(fds.size_bytes()));
  iovec part{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return SystemError("send to the jail", errno);
  return Ok();
}

// posix_spawn and not fork: this process has threads.
Result<pid_t> SpawnLauncher(const std::string& program, int control, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  // Out of the way of the numbers that they become.
  const UniqueFd high_control(::fcntl(control, F_DUPFD_CLOEXEC, 10));
  const UniqueFd high_output(::fcntl(output, F_DUPFD_CLOEXEC, 10));
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, high_output.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, high_output.get(), 2);
  ::posix_spawn_file_actions_adddup2(&actions, high_control.get(), jail::kControlFd);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char name[] = "assay-jail";
  char* argv[] = {name, nullptr};
  char* environment[] = {nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environment);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return SystemError("start " + program, error);
  return pid;
}

// All messages until every copy of the other end is closed, which is when the job's program runs.
Result<jail::LaunchReport> ReadReports(int socket) {
  jail::LaunchReport result;
  result.error = EPROTO;
  std::strncpy(result.step, "the launcher said nothing", sizeof(result.step) - 1);
  for (;;) {
    pollfd waiting{socket, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kLaunchLimitMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Error{ErrorCode::kUnavailable, "the jail's launcher did not finish"};
    jail::LaunchReport report;
    const ssize_t got = ::recv(socket, &report, sizeof(report), 0);
    if (got == 0) return result;
    if (got != static_cast<ssize_t>(sizeof(report)))
      return SystemError("read from the launcher", got < 0 ? errno : EPROTO);
    report.step[sizeof(report.step) - 1] = '\0';
    if (report.init != 0 || report.job != 0) {
      // The launcher itself; a failure that the job reported stays.
      const bool job_failed = result.error != 0 && result.error != EPROTO;
      result.init = report.init;
      result.job = report.job;
      result.walls = report.walls;
      result.landlock = report.landlock;
      if (job_failed) continue;
    }
    result.error = report.error;
    std::memcpy(result.step, report.step, sizeof(result.step));
  }
}

Walls ToWalls(const jail::LaunchReport& report) {
  const auto stands = [&report](uint32_t wall) { return (report.walls & wall) != 0; };
  Walls walls;
  walls.user_namespace = stands(jail::kUserNamespace);
  walls.pid_namespace = stands(jail::kPidNamespace);
  walls.empty_root = stands(jail::kEmptyRoot);
  walls.network_namespace = stands(jail::kNetworkNamespace);
  walls.ipc_namespace = stands(jail::kIpcNamespace);
  walls.uts_namespace = stands(jail::kUtsNamespace);
  walls.landlock = report.landlock;
  walls.seccomp = stands(jail::kSeccomp);
  walls.thread_budget = stands(jail::kProcessLimit);
  walls.no_new_privileges = stands(jail::kNoNewPrivileges);
  walls.resource_limits = stands(jail::kResourceLimits);
  walls.own_user = stands(jail::kOwnUser);
  return walls;
}

}  // namespace

Result<JailedProcess> JailedProcess::Launch(const jail::JailPlan& original, std::span<const int> job_descriptors,
                                            int output) {
  jail::JailPlan plan = original;
  plan.refuse_namespaces = plan.refuse_namespaces || namespaces_refused.load();
  if (::geteuid() == 0) plan.own_user = FreshUser();
  ASSAY_TRY(const std::filesystem::path program, FindProgram("assay-jail"));
  ASSAY_TRY(SocketPair control, MakeSockets());
  ASSAY_TRY(SocketPair lifeline, MakeSockets());
  ASSAY_TRY(const UniqueFd message, MakeMessageFile(jail::Encode(plan)));
  std::vector<int> fds = {message.get(), lifeline.theirs.get()};
  fds.insert(fds.end(), job_descriptors.begin(), job_descriptors.end());

  JailedProcess process;
  ASSAY_TRY(process.group_, SpawnLauncher(program.string(), control.theirs.get(), output));
  control.theirs.reset();
  const char byte = 0;
  const Status sent = SendDescriptors(control.ours.get(), &byte, 1, fds);
  process.lifeline_ = std::move(lifeline.ours);
  lifeline.theirs.reset();
  Result<jail::LaunchReport> read = ReadReports(control.ours.get());
  if (!read.ok() || !sent.ok()) ::kill(process.group_, SIGKILL);
  while (::waitpid(process.group_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ASSAY_TRY_STATUS(sent);
  ASSAY_TRY(const jail::LaunchReport report, std::move(read));
  if (report.init > 0) process.init_ = report.init;
  if (report.job > 0) process.job_ = report.job;
  process.walls_ = ToWalls(report);
  if (report.error != 0) {
    process.Bury();
    if (!plan.refuse_namespaces && plan.own_user == 0 && std::strcmp(report.step, "user map") == 0) {
      namespaces_refused.store(true);
      return Launch(original, job_descriptors, output);
    }
    return SystemError("jail: " + std::string(report.step), report.error);
  }
  return process;
}

JailedProcess::JailedProcess(JailedProcess&& other) noexcept
    : group_(std::exchange(other.group_, -1)),
      init_(std::exchange(other.init_, -1)),
      job_(std::exchange(other.job_, -1)),
      lifeline_(std::move(other.lifeline_)),
      walls_(other.walls_) {}

JailedProcess& JailedProcess::operator=(JailedProcess&& other) noexcept {
  if (this == &other) return *this;
  Bury();
  group_ = std::exchange(other.group_, -1);
  init_ = std::exchange(other.init_, -1);
  job_ = std::exchange(other.job_, -1);
  lifeline_ = std::move(other.lifeline_);
  walls_ = other.walls_;
  return *this;
}

Status JailedProcess::OrderWatch(uint32_t threads, int tasks) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, job_, 0)));
  if (!pidfd.valid()) return SystemError("pidfd_open", errno);
  jail::WatchOrder order;
  order.threads = threads;
  const int fds[] = {pidfd.get(), tasks};
  return SendDescriptors(lifeline_.get(), &order, sizeof(order), fds);
}

Result<std::optional<Ending>> JailedProcess::WaitFor(int options) {
  siginfo_t info{};
  // By number, never "any child": other parts of this process have children of their own.
  while (::waitid(P_PID, static_cast<id_t>(job_), &info, options) != 0) {
    if (errno != EINTR) return SystemError("waitid", errno);
  }
  if (info.si_pid == 0 || info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED) {
    // Zero means "nothing yet" and is told apart by the callers' options.
    if (info.si_pid == 0) return std::optional<Ending>(Ending{0, 0});
    return std::optional<Ending>();
  }
  job_ = -1;
  return std::optional<Ending>(Ending{info.si_code, info.si_status});
}

Result<std::optional<Ending>> JailedProcess::Stop(bool spin) {
  // Dead or not: the wait tells.
  ::kill(job_, SIGSTOP);
  for (;;) {
    // The kernel reports the stop when the last thread has stopped, not before.
    ASSAY_TRY(const std::optional<Ending> ending, WaitFor(WSTOPPED | WEXITED | (spin ? WNOHANG : 0)));
    if (ending && ending->code == 0) continue;
    return ending;
  }
}

void JailedProcess::Continue() { ::kill(job_, SIGCONT); }

Result<std::optional<Ending>> JailedProcess::Poll() {
  ASSAY_TRY(const std::optional<Ending> ending, WaitFor(WEXITED | WNOHANG));
  if (ending && ending->code == 0) return std::optional<Ending>();
  return ending;
}

void JailedProcess::Bury() {
  const auto reap = [](pid_t& pid) {
    if (pid <= 0) return;
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid = -1;
  };
  // The group's number is safe to use as long as pid 1, a member, has not been reaped.
  if (init_ > 0) ::kill(-group_, SIGKILL);
  if (init_ > 0) ::kill(init_, SIGKILL);
  if (job_ > 0) ::kill(job_, SIGKILL);
  // The job first: pid 1 cannot end before everything in its namespace has been waited for.
  reap(job_);
  reap(init_);
  lifeline_.reset();
}

std::optional<jail::RefusalReport> JailedProcess::TakeReport() {
  jail::RefusalReport report;
  const ssize_t got = ::recv(lifeline_.get(), &report, sizeof(report), MSG_DONTWAIT);
  if (got != static_cast<ssize_t>(sizeof(report))) return std::nullopt;
  return report;
}

ForbiddenCall ToForbiddenCall(const jail::RefusalReport& report) {
  ForbiddenCall call;
  call.number = report.number;
  call.name = CallName(report.arch, report.number);
  if (report.refusal == jail::Refusal::kThreadBudget) call.name += " (a thread beyond the budget)";
  for (size_t i = 0; i < call.arguments.size(); ++i) call.arguments[i] = report.arguments[i];
  return call;
}

}  // namespace assay
