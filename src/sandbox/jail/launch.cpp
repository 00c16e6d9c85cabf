// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sandbox/jail/steps.h"

namespace assay::jail {
namespace {

// A child whose parent is ours: the supervisor waits for init and job itself, so it hears their true
// ending, and every stop, from the kernel and from nobody else.
pid_t CloneSibling() {
  return static_cast<pid_t>(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Without a root of our own the program lies where it lies on the host.
void NameProgram(Context& context) {
  if (context.stands(kEmptyRoot)) return;
  for (const Bind& bind : context.plan.binds) {
    if (bind.target == context.plan.argv[0]) context.plan.argv[0] = bind.source;
  }
}

[[noreturn]] void RunJob(Context& context) {
  NameProgram(context);
  const std::vector<char*> argv = Pointers(context.plan.argv);
  const std::vector<char*> environment = Pointers(context.plan.environment);
  int control = ArrangeDescriptors(context);
  const char* step = "descriptors";
  if (control >= 0) {
    ::execve(argv[0], argv.data(), environment.data());
    step = "start the program";
  } else {
    control = kControlFd;
  }
  LaunchReport failure;
  failure.error = errno;
  std::strncpy(failure.step, step, sizeof(failure.step) - 1);
  ::send(control, &failure, sizeof(failure), MSG_NOSIGNAL);
  ::_exit(127);
}

bool StartInit(Context& context) {
  if (context.plan.profile == Profile::kRunner) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return context.Fail("notify socket", errno);
    context.notify_init = UniqueFd(pair[0]);
    context.notify_job = UniqueFd(pair[1]);
  }
  // The first child after the pid namespace was made is its pid 1.
  const pid_t pid = CloneSibling();
  if (pid < 0) return context.Fail("start init", errno);
  if (pid == 0) RunInit(context);
  context.report.init = pid;
  context.lifeline.reset();
  context.notify_init.reset();
  return true;
}

bool StartJob(Context& context) {
  const std::string& directory = context.plan.directory;
  if (!directory.empty() && ::chdir(directory.c_str()) != 0) return context.Fail("working directory", errno);
  const pid_t pid = CloneSibling();
  if (pid < 0) return context.Fail("start the job", errno);
  if (pid == 0) RunJob(context);
  context.report.job = pid;
  return true;
}

}  // namespace

bool Context::Fail(const char* step, int error) {
  report.error = error == 0 ? EINVAL : error;
  std::strncpy(report.step, step, sizeof(report.step) - 1);
  return false;
}

bool Launch(Context& context) {
  return PinToCpus(context) && ForbidNewPrivileges(context) && GiveAwayFolders(context) &&
         // From here on an ordinary user is root of a world of its own.
         EnterUserNamespace(context) && SeparateNamespaces(context) && BuildRoot(context) &&
         // The host's files and network are out of sight; now the rights go.
         BecomeOwnUser(context) && StartInit(context) &&
         // What init was spared.
         RestrictFiles(context) && LimitResources(context) && HoldProcessGroup(context) && StartJob(context);
}

}  // namespace assay::jail
