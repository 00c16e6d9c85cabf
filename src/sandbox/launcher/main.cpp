// SPDX-License-Identifier: Apache-2.0
// assay-jail: started by the supervisor with one socket, on which it receives a plan and descriptors,
// raises the walls around itself, starts pid 1 and the job as the supervisor's own children, says
// what it did, and ends.  One thread, no threads' libraries: that is why it may fork freely.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sandbox/jail/steps.h"
#include "sandbox/launcher/probe.h"

namespace assay::jail {
namespace {

std::vector<UniqueFd> ReceiveDescriptors() {
  std::vector<UniqueFd> fds;
  alignas(cmsghdr) static char control[CMSG_SPACE(253 * sizeof(int))];
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (::recvmsg(kControlFd, &message, MSG_CMSG_CLOEXEC) <= 0) return fds;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return fds;
  const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int fd;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
    fds.emplace_back(fd);
  }
  return fds;
}

bool ReadPlan(Context& context) {
  std::vector<UniqueFd> fds = ReceiveDescriptors();
  if (fds.size() < kFixedDescriptors) return context.Fail("receive the plan", EPROTO);
  struct stat info {};
  if (::fstat(fds[0].get(), &info) != 0) return context.Fail("read the plan", errno);
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  if (::pread(fds[0].get(), bytes.data(), bytes.size(), 0) != info.st_size)
    return context.Fail("read the plan", EPROTO);
  std::optional<JailPlan> plan = Decode(bytes);
  if (!plan || plan->argv.empty()) return context.Fail("decode the plan", EPROTO);
  context.plan = std::move(*plan);
  context.lifeline = std::move(fds[1]);
  for (size_t i = kFixedDescriptors; i < fds.size(); ++i) context.job.push_back(std::move(fds[i]));
  if (context.plan.profile == Profile::kRunner && context.job.size() < 3)
    return context.Fail("receive descriptors", EPROTO);
  return true;
}

}  // namespace
}  // namespace assay::jail

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--probe") == 0) return assay::jail::Probe();
  // Dies with the supervisor's thread, which waits for it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  assay::jail::Context context;
  if (assay::jail::ReadPlan(context)) assay::jail::Launch(context);
  ::send(assay::jail::kControlFd, &context.report, sizeof(context.report), MSG_NOSIGNAL);
  return 0;
}
