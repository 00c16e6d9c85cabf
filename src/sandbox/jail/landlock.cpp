// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sandbox/jail/steps.h"

namespace assay::jail {
namespace {

// The kernel's structure and bits by value: headers of older distributions lack the newer ones, the
// kernel underneath may have them.
struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

constexpr uint64_t kExecute = 1, kWriteFile = 2, kReadFile = 4, kReadFolder = 8;
constexpr uint64_t kFirstVersion = (uint64_t{1} << 13) - 1;  // ABI 1: the first thirteen rights
constexpr uint64_t kRefer = uint64_t{1} << 13, kTruncate = uint64_t{1} << 14, kDeviceControl = uint64_t{1} << 15;
constexpr uint64_t kOnFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

uint64_t HandledAccess(int version) {
  uint64_t access = kFirstVersion;
  if (version >= 2) access |= kRefer;
  if (version >= 3) access |= kTruncate;
  if (version >= 5) access |= kDeviceControl;
  return access;
}

bool Allow(int ruleset, const char* path, uint64_t access) {
  const UniqueFd fd(::open(path, O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return false;
  if (!S_ISDIR(info.st_mode)) access &= kOnFiles;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = fd.get();
  return ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

}  // namespace

// Behind the empty root this is a second fence of another make; without namespaces it is the fence.
bool RestrictFiles(Context& context) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return true;
  const uint64_t handled = HandledAccess(static_cast<int>(version));
  RulesetAttributes attributes{handled, version >= 4 ? uint64_t{3} : 0, version >= 6 ? uint64_t{3} : 0};
  const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.valid()) return context.Fail("landlock", errno);
  const bool inside = context.stands(kEmptyRoot);
  for (const Bind& bind : context.plan.binds) {
    const std::string& path = inside ? bind.target : bind.source;
    uint64_t access = kExecute | kReadFile | kReadFolder;
    if (bind.writable) access = handled;
    if (!Allow(ruleset.get(), path.c_str(), access & handled)) return context.Fail(("landlock " + path).c_str(), errno);
  }
  if (inside && !context.plan.copy_target.empty() &&
      !Allow(ruleset.get(), context.plan.copy_target.c_str(), kExecute | kReadFile)) {
    return context.Fail("landlock artifact", errno);
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return context.Fail("landlock restrict", errno);
  context.report.landlock = static_cast<int32_t>(version);
  return true;
}

}  // namespace assay::jail
