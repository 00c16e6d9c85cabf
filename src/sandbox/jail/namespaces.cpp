// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/jail/steps.h"

namespace assay::jail {

// One by one, so that a kernel or container that refuses one still gives the others.
bool SeparateNamespaces(Context& context) {
  if (context.plan.refuse_namespaces) return true;
  const auto separate = [&context](int flag, uint32_t wall) {
    if (::unshare(flag) == 0) context.report.walls |= wall;
  };
  separate(CLONE_NEWNS, kEmptyRoot);  // stands once BuildRoot is through
  separate(CLONE_NEWPID, kPidNamespace);
  separate(CLONE_NEWNET, kNetworkNamespace);
  separate(CLONE_NEWIPC, kIpcNamespace);
  separate(CLONE_NEWUTS, kUtsNamespace);
  if (context.stands(kUtsNamespace)) {
    // The host's name says where a candidate runs; it has no use for that.
    if (::sethostname("jail", 4) != 0) return context.Fail("host name", errno);
  }
  return true;
}

}  // namespace assay::jail
