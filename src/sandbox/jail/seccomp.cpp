// SPDX-License-Identifier: Apache-2.0
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <vector>

#include "sandbox/jail/steps.h"

namespace assay::jail {
namespace {

// What no compiler needs and what widens the kernel's surface.  Refused with EPERM, because a build
// tool may try and go on without.
constexpr uint32_t kRefused[] = {
    SYS_ptrace,      SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_userfaultfd, SYS_io_uring_setup,   SYS_bpf,
    SYS_keyctl,      SYS_add_key,          SYS_request_key,
    SYS_mount,       SYS_umount2,          SYS_unshare,
    SYS_setns,       SYS_pivot_root,       SYS_perf_event_open,
    SYS_socket,      SYS_socketpair,       SYS_kexec_load,
    SYS_open_tree,   SYS_move_mount,       SYS_fsopen,
    SYS_pidfd_getfd, SYS_memfd_create,     SYS_personality,
};

// Without a pid namespace, what leaves its process group outlives its build.
constexpr uint32_t kLeavesGroup[] = {SYS_setsid, SYS_setpgid};

}  // namespace

bool HoldProcessGroup(Context& context) {
  if (context.plan.profile != Profile::kBuild) return true;  // the runner brings a stricter filter
  std::vector<uint32_t> refused(std::begin(kRefused), std::end(kRefused));
  if (!context.stands(kPidNamespace)) refused.insert(refused.end(), std::begin(kLeavesGroup), std::end(kLeavesGroup));
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),  // x32
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  for (const uint32_t number : refused) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, kRefuse));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0) context.report.walls |= kSeccomp;
  return true;
}

}  // namespace assay::jail
