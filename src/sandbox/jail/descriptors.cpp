// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/jail/steps.h"
#include "sandbox/ring.h"

namespace assay::jail {
namespace {

// The high numbers are a parking place, so that no dup2 lands on a descriptor still to be moved.
constexpr int kParking = 128;

bool Park(UniqueFd& fd) {
  UniqueFd parked(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kParking));
  if (!parked.valid()) return false;
  fd = std::move(parked);
  return true;
}

}  // namespace

// The job gets 0-2 and, as a runner, the numbers that ring.h fixes.  The control socket moves behind
// them and stays until exec closes it: its end of file tells the supervisor that exec worked.
int ArrangeDescriptors(Context& context) {
  UniqueFd control(::fcntl(kControlFd, F_DUPFD_CLOEXEC, kParking));
  bool parked = control.valid();
  for (UniqueFd& fd : context.job) parked = parked && Park(fd);
  if (context.notify_job.valid()) parked = parked && Park(context.notify_job);
  if (!parked) return -1;
  int next = ring::kNotifyFd;
  if (context.notify_job.valid()) {
    if (::dup2(context.notify_job.get(), next++) < 0) return -1;
    for (const UniqueFd& fd : context.job) {
      if (::dup2(fd.get(), next++) < 0) return -1;
    }
  }
  const int kept = next;
  if (::dup3(control.get(), kept, O_CLOEXEC) < 0) return -1;
  // The parked ones and whatever else this process was given by mistake.
  if (::syscall(SYS_close_range, kept + 1, ~0U, 0) != 0) return -1;
  control.release();
  context.lifeline.release();
  context.notify_init.release();
  context.notify_job.release();
  for (UniqueFd& fd : context.job) fd.release();
  return kept;
}

}  // namespace assay::jail
