// SPDX-License-Identifier: Apache-2.0
// The runner's system-call filter: a list of what computing needs, everything else refused.  Written
// as raw BPF, because it is short, and the runner then needs no library that a candidate would share.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "runner/runner.h"

namespace assay::runner {
namespace {

// Harmless with any arguments.  The most frequent first.
constexpr uint32_t kAllowed[] = {
    SYS_futex,
    SYS_sched_yield,
    SYS_munmap,
    SYS_brk,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_time,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_restart_syscall,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_set_tid_address,
    SYS_sched_getaffinity,
    SYS_getcpu,
    SYS_getrandom,
    SYS_sysinfo,
    SYS_uname,
    SYS_getrlimit,
    SYS_getrusage,
    SYS_times,
    SYS_read,
    SYS_pread64,
    SYS_lseek,
    SYS_close,
    SYS_close_range,
    SYS_fstat,
};

// Callers have another way when the kernel is too old to know these: clone for clone3, whose flags a
// filter can see, and copying for mremap.
constexpr uint32_t kUnknown[] = {SYS_clone3, SYS_mremap, SYS_statx, SYS_membarrier, SYS_get_mempolicy, SYS_faccessat2};

// What loading takes and trusted libraries may go on doing.
constexpr uint32_t kFiles[] = {SYS_openat, SYS_open, SYS_access, SYS_readlink};
constexpr uint32_t kSecondFilter[] = {SYS_seccomp};
constexpr uint32_t kTrusted[] = {SYS_rt_sigaction, SYS_madvise, SYS_mprotect, SYS_mmap,  SYS_getdents64, SYS_fcntl,
                                 SYS_mbind,        SYS_getcwd,  SYS_stat,     SYS_lstat, SYS_readlinkat, SYS_msync};

constexpr uint32_t kAdviceGuardInstall = 102, kAdviceGuardRemove = 103;  // the C library's own stack guards
constexpr uint32_t kPermissionCalls[] = {0x1003, 0x1021, 0x1022, 0x1023,
                                         0x1024};  // arch_prctl: get base, tile permissions

constexpr uint32_t kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
constexpr uint32_t kOtherFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                 CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE | CLONE_PARENT | CLONE_VFORK | CLONE_PIDFD;

// Builds one program.  Blocks end in a verdict, so that their order does not matter.
class Program {
 public:
  explicit Program(uint32_t refuse) : refuse_(refuse) {
    Add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    Jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    Return(refuse_);  // 32-bit calls
    Add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    Jump(BPF_JGE, 0x40000000, 0, 1);
    Return(refuse_);  // x32 calls
  }

  template <size_t kCount>
  void All(const uint32_t (&numbers)[kCount], uint32_t verdict) {
    for (const uint32_t number : numbers) {
      Jump(BPF_JEQ, number, 0, 1);
      Return(verdict);
    }
  }
  // Allowed when the low half of the argument, under the mask, is one of the values; else refused.
  // Linux reads no more than 32 bits of any of these.
  template <size_t kCount>
  void Only(uint32_t number, int argument, uint32_t mask, const uint32_t (&values)[kCount], uint32_t otherwise) {
    Begin(number, 2 + 2 * kCount + 1);
    Load(argument);
    Add(BPF_ALU | BPF_AND | BPF_K, mask);
    for (const uint32_t value : values) {
      Jump(BPF_JEQ, value, 0, 1);
      Return(SECCOMP_RET_ALLOW);
    }
    Return(otherwise);
  }
  // Allowed when a whole argument is null.
  void OnlyNull(uint32_t number, int argument) {
    Begin(number, 6);
    Load(argument);
    Jump(BPF_JEQ, 0, 0, 3);
    Load(argument, 4);
    Jump(BPF_JEQ, 0, 0, 1);
    Return(SECCOMP_RET_ALLOW);
    Return(refuse_);
  }
  // tgkill(this process, any thread, SIGABRT or SIGSYS): abort, and the fault handler's own ending.
  void OnlyOwnAbort(uint32_t pid) {
    Begin(SYS_tgkill, 7);
    Load(0);
    Jump(BPF_JEQ, pid, 0, 4);
    Load(2);
    Jump(BPF_JEQ, SIGABRT, 1, 0);
    Jump(BPF_JEQ, SIGSYS, 0, 1);
    Return(SECCOMP_RET_ALLOW);
    Return(refuse_);
  }
  void OnlyThreads(uint32_t verdict) {
    Begin(SYS_clone, 6);
    Load(0);
    Add(BPF_ALU | BPF_AND | BPF_K, kThreadFlags | kOtherFlags);
    Jump(BPF_JEQ, kThreadFlags, 0, 1);
    Return(verdict);
    Return(refuse_);
    Return(refuse_);
  }
  sock_fprog Finish() {
    Return(refuse_);
    return {static_cast<unsigned short>(size_), code_};
  }

 private:
  void Add(uint32_t code, uint32_t value) { Put({static_cast<uint16_t>(code), 0, 0, value}); }
  void Jump(uint32_t test, uint32_t value, uint8_t yes, uint8_t no) {
    Put({static_cast<uint16_t>(BPF_JMP | test | BPF_K), yes, no, value});
  }
  void Return(uint32_t verdict) { Add(BPF_RET | BPF_K, verdict); }
  void Load(int argument, uint32_t half = 0) {
    Add(BPF_LD | BPF_W | BPF_ABS,
        static_cast<uint32_t>(offsetof(seccomp_data, args)) + static_cast<uint32_t>(argument) * 8 + half);
  }
  // Skips the block's instructions for every other call; the number stays loaded for the next block.
  void Begin(uint32_t number, size_t instructions) { Jump(BPF_JEQ, number, 0, static_cast<uint8_t>(instructions)); }
  void Put(const sock_filter& instruction) {
    if (size_ < kCapacity) code_[size_++] = instruction;
  }

  static constexpr size_t kCapacity = 512;
  sock_filter code_[kCapacity];
  size_t size_ = 0;
  uint32_t refuse_;
};

sock_fprog Write(Program& program, uint32_t refuse, ring::FilterMode mode, bool may_load, bool trusted) {
  program.All(kAllowed, SECCOMP_RET_ALLOW);
  program.All(kUnknown, SECCOMP_RET_ERRNO | ENOSYS);
  if (trusted) program.All(kTrusted, SECCOMP_RET_ALLOW);
  if (may_load || trusted) program.All(kFiles, SECCOMP_RET_ALLOW);
  if (may_load) program.All(kSecondFilter, SECCOMP_RET_ALLOW);
  const uint32_t code = may_load ? SECCOMP_RET_ALLOW : refuse;
  const uint32_t none[] = {0};
  program.Only(SYS_mmap, 2, PROT_EXEC, none, code);
  program.Only(SYS_mprotect, 2, PROT_EXEC, none, code);
  program.Only(SYS_newfstatat, 3, 0x1000, {0x1000},
               may_load || trusted ? SECCOMP_RET_ALLOW : refuse);  // AT_EMPTY_PATH: a descriptor
  program.Only(SYS_madvise, 2, ~0U, {MADV_DONTNEED, MADV_FREE, kAdviceGuardInstall, kAdviceGuardRemove}, refuse);
  program.Only(SYS_write, 0, ~0U, {1, 2}, refuse);
  program.Only(SYS_writev, 0, ~0U, {1, 2}, refuse);
  program.Only(SYS_sendmsg, 0, ~0U, {static_cast<uint32_t>(ring::kNotifyFd)}, refuse);
  program.Only(SYS_arch_prctl, 0, ~0U, kPermissionCalls, refuse);
  const uint32_t not_a_terminal[] = {SYS_ioctl};
  program.All(not_a_terminal, SECCOMP_RET_ERRNO | ENOTTY);
  program.OnlyNull(SYS_prlimit64, 2);
  program.OnlyNull(SYS_rt_sigaction, 1);
  program.OnlyOwnAbort(static_cast<uint32_t>(::getpid()));
  program.OnlyThreads(mode == ring::FilterMode::kNotify && !trusted ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
  return program.Finish();
}

bool SendListener(int listener) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &listener, sizeof(listener));
  return ::sendmsg(ring::kNotifyFd, &message, MSG_NOSIGNAL) == 1;
}

long Install(const sock_fprog& filter, unsigned flags) {
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_TSYNC, &filter);
}

}  // namespace

ring::FilterMode InstallFilter(ring::FilterMode most, FilterStage stage, bool trusted) {
  using ring::FilterMode;
  if (most == FilterMode::kNone) return FilterMode::kNone;
  if (trusted) {
    // Code that is trusted and merely confined is told no and may go on.
    static Program program(SECCOMP_RET_ERRNO | EPERM);
    const sock_fprog filter = Write(program, SECCOMP_RET_ERRNO | EPERM, FilterMode::kTrap, true, true);
    return Install(filter, 0) == 0 ? FilterMode::kTrap : FilterMode::kNone;
  }
  if (most == FilterMode::kNotify && stage == FilterStage::kLoading) {
    // One filter for both stages: until the runner says that it has loaded, pid 1 lets loading through.
    static Program program(SECCOMP_RET_USER_NOTIF);
    const sock_fprog filter = Write(program, SECCOMP_RET_USER_NOTIF, FilterMode::kNotify, false, false);
    const long listener = Install(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC_ESRCH);
    if (listener >= 0) {
      // Without pid 1 at the other end the first refused call would wait for ever; then so be it.
      const bool sent = SendListener(static_cast<int>(listener));
      ::close(static_cast<int>(listener));
      return sent ? FilterMode::kNotify : FilterMode::kNone;
    }
  }
  const bool may_load = stage == FilterStage::kLoading;
  Program program(SECCOMP_RET_TRAP);
  const sock_fprog filter = Write(program, SECCOMP_RET_TRAP, FilterMode::kTrap, may_load, false);
  return Install(filter, 0) == 0 ? FilterMode::kTrap : FilterMode::kNone;
}

}  // namespace assay::runner
