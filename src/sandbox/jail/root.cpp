// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "sandbox/jail/steps.h"

namespace assay::jail {
namespace {

constexpr const char* kAssembly = "/tmp";  // any folder that exists everywhere; hidden while we build on it

bool MakeParents(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    if (::mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST) return false;
  }
  return true;
}

// A detached copy of the source, already locked down; needs no place yet.
UniqueFd CloneTree(const Bind& bind) {
  UniqueFd tree(::open_tree(AT_FDCWD, bind.source.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (!tree.valid()) return tree;
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID;
  if (!bind.writable) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  // A device may only be bound by naming it; a folder brings none along.
  struct stat info {};
  if (::fstat(tree.get(), &info) != 0) return UniqueFd();
  if (!S_ISCHR(info.st_mode)) attributes.attr_set |= MOUNT_ATTR_NODEV;
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes)) != 0)
    return UniqueFd();
  return tree;
}

bool PlaceTree(const UniqueFd& tree, const std::string& target) {
  struct stat info {};
  if (::fstat(tree.get(), &info) != 0 || !MakeParents(target)) return false;
  if (S_ISDIR(info.st_mode)) {
    if (::mkdir(target.c_str(), 0755) != 0 && errno != EEXIST) return false;
  } else {
    const UniqueFd file(::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444));
    if (!file.valid()) return false;
  }
  return ::move_mount(tree.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

// The sealed bytes into the root's own memory, which nobody can write once the root is read-only.
bool CopyArtifact(int from, const std::string& target) {
  struct stat info {};
  if (::fstat(from, &info) != 0) return false;
  const UniqueFd to(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!to.valid()) return false;
  off_t offset = 0;
  while (offset < info.st_size) {
    const ssize_t copied =
        ::copy_file_range(from, &offset, to.get(), nullptr, static_cast<size_t>(info.st_size - offset), 0);
    if (copied > 0) continue;
    // Not between these two file systems: by hand.
    char block[1 << 16];
    const ssize_t got = ::pread(from, block, sizeof(block), offset);
    if (got <= 0 || ::write(to.get(), block, static_cast<size_t>(got)) != got) return false;
    offset += got;
  }
  return true;
}

}  // namespace

// An empty file system in memory, with nothing in it but what the plan lists, made read-only and put
// in the host's place.  No /proc, /sys or /dev.
bool BuildRoot(Context& context) {
  if (!context.stands(kEmptyRoot)) return true;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return context.Fail("private mounts", errno);
  // Sources first: the assembly may hide them.
  std::vector<UniqueFd> trees;
  for (const Bind& bind : context.plan.binds) {
    trees.push_back(CloneTree(bind));
    if (!trees.back().valid()) return context.Fail(("bind " + bind.source).c_str(), errno);
  }
  if (::mount("jail", kAssembly, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=256m,nr_inodes=4096") != 0) {
    return context.Fail("root file system", errno);
  }
  if (::chdir(kAssembly) != 0) return context.Fail("root folder", errno);
  for (size_t i = 0; i < trees.size(); ++i) {
    const Bind& bind = context.plan.binds[i];
    if (!PlaceTree(trees[i], kAssembly + bind.target)) return context.Fail(("place " + bind.target).c_str(), errno);
  }
  for (const Bind& link : context.plan.links) {
    const std::string target = kAssembly + link.target;
    if (!MakeParents(target) || ::symlink(link.source.c_str(), target.c_str()) != 0) return context.Fail("link", errno);
  }
  if (!context.plan.copy_target.empty() && context.job.size() > 2 &&
      !CopyArtifact(context.job[2].get(), kAssembly + context.plan.copy_target)) {
    return context.Fail("copy the artifact", errno);
  }
  // The second argument stacks the old root on the new one, from where it is taken off.
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return context.Fail("change root", errno);
  if (::umount2(".", MNT_DETACH) != 0) return context.Fail("leave the old root", errno);
  if (::chdir("/") != 0) return context.Fail("root folder", errno);
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(AT_FDCWD, "/", 0, &attributes, sizeof(attributes)) != 0)
    return context.Fail("read-only root", errno);
  return true;
}

}  // namespace assay::jail
