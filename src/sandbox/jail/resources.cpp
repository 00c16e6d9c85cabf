// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/resource.h>

#include <cerrno>

#include "sandbox/jail/steps.h"

namespace assay::jail {
namespace {

bool Limit(int resource, uint64_t value) {
  // Never above what was inherited: an ordinary user cannot raise it and a lower one is as good.
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return false;
  if (limit.rlim_max == RLIM_INFINITY || value < limit.rlim_max) limit.rlim_max = value;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0;
}

}  // namespace

bool PinToCpus(Context& context) {
  if (context.plan.cpus.empty()) return true;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : context.plan.cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) return context.Fail("processor affinity", errno);
  return true;
}

bool LimitResources(Context& context) {
  const JailPlan& plan = context.plan;
  const bool done = Limit(RLIMIT_CORE, 0) && Limit(RLIMIT_AS, plan.address_space) &&
                    Limit(RLIMIT_CPU, plan.cpu_seconds) && Limit(RLIMIT_FSIZE, plan.file_size) &&
                    Limit(RLIMIT_NOFILE, plan.descriptors) && Limit(RLIMIT_STACK, plan.stack) &&
                    Limit(RLIMIT_MEMLOCK, 0) && Limit(RLIMIT_MSGQUEUE, 0) && Limit(RLIMIT_NICE, 0) &&
                    Limit(RLIMIT_RTPRIO, 0);
  if (!done) return context.Fail("resource limits", errno);
  // The kernel counts processes per user id, or per user namespace; where neither is ours alone the
  // count would include strangers.
  if (plan.processes != 0 && (context.stands(kOwnUser) || context.stands(kUserNamespace))) {
    if (!Limit(RLIMIT_NPROC, plan.processes)) return context.Fail("process limit", errno);
    context.report.walls |= kProcessLimit;
  }
  context.report.walls |= kResourceLimits;
  return true;
}

}  // namespace assay::jail
