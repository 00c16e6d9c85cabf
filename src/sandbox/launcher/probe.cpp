// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launcher/probe.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace assay::jail {
namespace {

bool HostFilesHidden() {
  struct stat info {};
  return ::stat("/etc/passwd", &info) != 0 && ::stat("/proc/self", &info) != 0 && ::stat("/sys", &info) != 0;
}

bool HostFilesRefused() { return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0; }

bool NoNetwork() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) return true;
  ::close(fd);
  return false;
}

bool NameHidden() {
  utsname name{};
  return ::uname(&name) == 0 && std::strcmp(name.nodename, "jail") == 0;
}

bool CoreFilesOff() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0;
}

}  // namespace

int Probe() {
  const struct {
    const char* name;
    bool held;
  } results[] = {
      {"pid", ::getpid() < 16 && ::getppid() == 0},  // its parent is out of sight
      {"root", HostFilesHidden()},
      {"net", NoNetwork()},
      {"uts", NameHidden()},
      {"landlock", HostFilesRefused()},
      {"seccomp", ::unshare(CLONE_NEWUSER) != 0 && errno == EPERM},
      {"nnp", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1},
      {"rlimits", CoreFilesOff()},
  };
  for (const auto& result : results) std::printf("%s %d\n", result.name, result.held ? 1 : 0);
  return 0;
}

}  // namespace assay::jail
