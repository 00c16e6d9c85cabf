// SPDX-License-Identifier: Apache-2.0
// Pid 1 of the jail.  It shares nothing with the job but a socket, so the job cannot reach it, and it
// does three things: it ends the jail when the supervisor is gone, it judges the system calls that
// the runner's filter does not let pass by itself, and it wakes a sleeping supervisor when the runner
// has died.  The kernel reaps what the job leaves behind, because SIGCHLD is ignored.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "sandbox/jail/steps.h"
#include "sandbox/ring.h"

namespace assay::jail {
namespace {

struct Init {
  UniqueFd lifeline, notify, listener;
  UniqueFd pidfd, tasks;  // of the runner
  uint32_t threads = 0;
  bool latched = false;  // the candidate is loaded
  ring::Report* report = nullptr;
};

[[noreturn]] void EndJail(const Init& init) {
  if (init.pidfd.valid()) ::syscall(SYS_pidfd_send_signal, init.pidfd.get(), SIGKILL, nullptr, 0);
  // Launcher, job and this process are one group; as pid 1 of a namespace our own exit ends the rest.
  ::kill(0, SIGKILL);
  ::_exit(0);
}

// One message with up to two descriptors; the number of bytes, 0 at the end, -1 when there is none.
ssize_t Receive(int socket, void* bytes, size_t size, UniqueFd (&fds)[2]) {
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  iovec part{bytes, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  const cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count && i < 2; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
      fds[i] = UniqueFd(fd);
    }
  }
  return got;
}

void Refuse(Init& init, Refusal refusal, const seccomp_data& call) {
  RefusalReport report;
  report.refusal = refusal;
  report.arch = call.arch;
  report.number = call.nr;
  for (int i = 0; i < 6; ++i) report.arguments[i] = call.args[i];
  // The report first: the supervisor looks for it once it sees the death.
  ::send(init.lifeline.get(), &report, sizeof(report), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::syscall(SYS_pidfd_send_signal, init.pidfd.get(), SIGKILL, nullptr, 0);
}

bool IsThread(uint64_t flags) {
  constexpr uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  constexpr uint64_t kElsewhere = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                  CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE | CLONE_PARENT | CLONE_VFORK | CLONE_PIDFD;
  return (flags & kThread) == kThread && (flags & kElsewhere) == 0;
}

bool WithinBudget(const Init& init) {
  if (init.threads == 0) return true;
  // OpenMP remakes a thread as soon as the old one has said goodbye, while the kernel still counts it.
  for (int tries = 0; tries < 50; ++tries) {
    struct stat info {};
    // A task folder has a link per thread besides its own two.
    if (::fstat(init.tasks.get(), &info) != 0) return true;  // the runner is dead
    if (info.st_nlink < init.threads + 2) return true;
    ::poll(nullptr, 0, 1);
  }
  return false;
}

// What loading an artifact takes; the filter lets through what is harmless at any time.
bool IsLoading(int number) {
  return number == SYS_openat || number == SYS_open || number == SYS_mmap || number == SYS_mprotect ||
         number == SYS_access || number == SYS_readlink || number == SYS_newfstatat;
}

void Judge(Init& init) {
  seccomp_notif call{};
  if (::ioctl(init.listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;  // its caller was killed
  seccomp_notif_resp answer{};
  answer.id = call.id;
  const bool native = call.data.arch == AUDIT_ARCH_X86_64;
  if (native && !init.latched && call.data.nr == ring::kLatchCall) {
    init.latched = true;
  } else if (native && !init.latched && IsLoading(call.data.nr)) {
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else if (native && call.data.nr == SYS_clone && IsThread(call.data.args[0])) {
    if (!WithinBudget(init)) return Refuse(init, Refusal::kThreadBudget, call.data);
    // All that was judged lies in registers, so nothing can change between this and the call.
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    return Refuse(init, Refusal::kCall, call.data);
  }
  ::ioctl(init.listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void SayDead(Init& init) {
  init.pidfd.reset();
  init.listener.reset();
  if (init.report == nullptr) return;
  init.report->done.store(ring::kDead);
  ::syscall(SYS_futex, &init.report->done, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void TakeOrder(Init& init) {
  WatchOrder order;
  UniqueFd fds[2];
  if (Receive(init.lifeline.get(), &order, sizeof(order), fds) <= 0) EndJail(init);
  init.threads = order.threads;
  init.pidfd = std::move(fds[0]);
  init.tasks = std::move(fds[1]);
}

void TakeListener(Init& init) {
  char byte = 0;
  UniqueFd fds[2];
  const ssize_t got = Receive(init.notify.get(), &byte, 1, fds);
  // One message and no more: a second one would be the candidate's.
  init.notify.reset();
  if (got <= 0) return;
  init.listener = std::move(fds[0]);
  const RefusalReport listening;
  ::send(init.lifeline.get(), &listening, sizeof(listening), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void KeepOnly(Context& context, Init& init) {
  init.lifeline = UniqueFd(::fcntl(context.lifeline.get(), F_DUPFD_CLOEXEC, 128));
  if (context.notify_init.valid()) {
    init.notify = UniqueFd(::fcntl(context.notify_init.get(), F_DUPFD_CLOEXEC, 128));
    void* shared = ::mmap(nullptr, sizeof(ring::Report), PROT_READ | PROT_WRITE, MAP_SHARED, context.job[1].get(), 0);
    if (shared != MAP_FAILED) init.report = static_cast<ring::Report*>(shared);
  }
  ::syscall(SYS_close_range, 0, 127, 0);
}

}  // namespace

[[noreturn]] void RunInit(Context& context) {
  ::prctl(PR_SET_NAME, "assay-init", 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::signal(SIGCHLD, SIG_IGN);
  Init init;
  KeepOnly(context, init);
  for (;;) {
    // Calls are judged only once the runner can be killed for them; until then they wait.
    const bool ready = init.pidfd.valid();
    pollfd polls[4] = {{init.lifeline.get(), POLLIN, 0},
                       {init.notify.get(), POLLIN, 0},
                       {ready ? init.listener.get() : -1, POLLIN, 0},
                       {init.pidfd.get(), POLLIN, 0}};
    if (::poll(polls, 4, -1) < 0) continue;
    if (polls[0].revents != 0) {
      TakeOrder(init);
    } else if (polls[3].revents != 0) {
      SayDead(init);
    } else if (polls[2].revents & POLLIN) {
      Judge(init);
    } else if (polls[2].revents != 0) {
      init.listener.reset();
    } else if (polls[1].revents != 0) {
      TakeListener(init);
    }
  }
}

}  // namespace assay::jail
