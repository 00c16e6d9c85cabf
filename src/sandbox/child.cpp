// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

extern char** environ;

namespace assay {
namespace {

struct SpawnSettings {
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<Child> Child::Spawn(const std::vector<std::string>& argv, const ChildOptions& options) {
  ASSAY_CHECK(!argv.empty());
  UniqueFd read_end, write_end;
  if (options.capture) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return SystemError("pipe", errno);
    read_end = UniqueFd(ends[0]);
    write_end = UniqueFd(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
    ::close(ends[1]);
    ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  }
  SpawnSettings settings;
  ::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0);
  for (const int number : {1, 2}) {
    if (options.capture) {
      ::posix_spawn_file_actions_adddup2(&settings.actions, write_end.get(), number);
    } else {
      ::posix_spawn_file_actions_addopen(&settings.actions, number, "/dev/null", O_WRONLY, 0);
    }
  }
  if (!options.directory.empty()) ::posix_spawn_file_actions_addchdir_np(&settings.actions, options.directory.c_str());
  ::posix_spawnattr_setpgroup(&settings.attributes, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&settings.attributes, &none);
  ::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments = Pointers(argv);
  std::vector<char*> environment;
  if (options.environment) environment = Pointers(*options.environment);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0].c_str(), &settings.actions, &settings.attributes, arguments.data(),
                                   options.environment ? environment.data() : environ);
  if (error != 0) return SystemError("start " + argv[0], error);
  Child child(pid);
  child.pipe_ = std::move(read_end);
  child.output_cap_ = options.output_cap;
  return child;
}

Child::~Child() {
  if (pid_ > 0) KillGroupAndReap();
}

Result<Outcome> Child::Wait(std::chrono::milliseconds limit) {
  ASSAY_CHECK(pid_ > 0);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd.valid()) return SystemError("pidfd_open", errno);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) {
      KillGroupAndReap();
      return Outcome(TimedOut{limit});
    }
    pollfd polls[2] = {{pidfd.get(), POLLIN, 0}, {pipe_.get(), POLLIN, 0}};
    if (::poll(polls, 2, static_cast<int>(std::min<long long>(left, 3'600'000))) < 0 && errno != EINTR)
      return SystemError("poll", errno);
    if (polls[1].revents != 0) Drain();
    if (polls[0].revents == 0) continue;
    const int status = KillGroupAndReap();
    if (WIFSIGNALED(status)) return Outcome(Signaled{WTERMSIG(status), std::nullopt});
    return Outcome(Exited{WEXITSTATUS(status)});
  }
}

// Not reaped before the kill: until then the number cannot be handed out again, so the kill cannot
// reach a stranger.  The leader may be gone while its own children run on, hence the whole group.  A
// child that called setsid() escapes this; a pid namespace is what holds it.
int Child::KillGroupAndReap() {
  const pid_t pid = std::exchange(pid_, -1);
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  Drain();
  pipe_.reset();
  return status;
}

void Child::Drain() {
  if (!pipe_.valid()) return;
  char block[1 << 14];
  for (;;) {
    const ssize_t got = ::read(pipe_.get(), block, sizeof(block));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) pipe_.reset();
    if (got <= 0) return;
    output_.append(block, std::min(static_cast<size_t>(got), output_cap_ - output_.size()));
  }
}

}  // namespace assay
