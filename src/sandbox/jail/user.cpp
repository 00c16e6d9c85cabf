// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sandbox/jail/steps.h"

namespace assay::jail {
namespace {

// An ordinary number inside: a user id of 0 would keep capabilities over exec.
constexpr unsigned kInnerUser = 1000;
constexpr unsigned kNobody = 65534;

bool WriteFile(const char* path, const std::string& text) {
  const UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  return fd.valid() && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool SetIds(unsigned user) {
  // Raw calls: the library's wrappers are for threads, of which there are none here.
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 && ::syscall(SYS_setresgid, user, user, user) == 0 &&
         ::syscall(SYS_setresuid, user, user, user) == 0;
}

bool DropCapabilities() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct none[2]{};
  return ::syscall(SYS_capset, &header, none) == 0;
}

// One level: the work folder and what the caller put there.
bool GiveAway(const std::string& folder, unsigned user) {
  if (::lchown(folder.c_str(), user, user) != 0) return false;
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return false;
  bool done = true;
  while (const dirent* entry = ::readdir(entries)) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && ::fchownat(::dirfd(entries), name.c_str(), user, user, AT_SYMLINK_NOFOLLOW) != 0)
      done = false;
  }
  ::closedir(entries);
  return done;
}

}  // namespace

bool GiveAwayFolders(Context& context) {
  if (context.plan.own_user == 0) return true;
  for (const Bind& bind : context.plan.binds) {
    struct stat info {};
    if (!bind.writable || ::stat(bind.source.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    if (!GiveAway(bind.source, context.plan.own_user)) return context.Fail("give the work folder away", errno);
  }
  return true;
}

bool EnterUserNamespace(Context& context) {
  // Root needs none: it raises the walls with its own rights and then becomes a user that nobody is.
  if (context.plan.own_user != 0 || context.plan.refuse_namespaces) return true;
  const unsigned user = ::geteuid();
  const unsigned group = ::getegid();
  if (::unshare(CLONE_NEWUSER) != 0) return true;
  const std::string inner = std::to_string(kInnerUser) + " ";
  if (!WriteFile("/proc/self/setgroups", "deny") ||
      !WriteFile("/proc/self/uid_map", inner + std::to_string(user) + " 1") ||
      !WriteFile("/proc/self/gid_map", inner + std::to_string(group) + " 1")) {
    return context.Fail("user map", errno);
  }
  context.report.walls |= kUserNamespace;
  return true;
}

bool BecomeOwnUser(Context& context) {
  if (context.plan.own_user != 0) {
    if (SetIds(context.plan.own_user)) {
      context.report.walls |= kOwnUser;
    } else if (!SetIds(kNobody)) {
      // A container may map few ids; never go on as root.
      return context.Fail("leave root", errno);
    }
    // Changing ids made the process opaque; the supervisor reads program counters of hung threads.
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  }
  if (!DropCapabilities()) return context.Fail("drop capabilities", errno);
  return true;
}

bool ForbidNewPrivileges(Context& context) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return context.Fail("no new privileges", errno);
  context.report.walls |= kNoNewPrivileges;
  return true;
}

}  // namespace assay::jail
