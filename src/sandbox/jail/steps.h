// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/unique_fd.h"
#include "sandbox/jail/plan.h"

// The launcher's steps, one file per concern.  Each changes this single-threaded process, which then
// becomes the jail by making children; `launch.cpp` fixes the order.
namespace assay::jail {

struct Context {
  JailPlan plan;
  UniqueFd lifeline;          // for pid 1: its other end closes when the supervisor dies
  std::vector<UniqueFd> job;  // runner: plan, report, artifact, buffers
  UniqueFd notify_init, notify_job;
  LaunchReport report;

  bool stands(uint32_t wall) const { return (report.walls & wall) != 0; }
  // For `return context.Fail("mount", errno)`.
  bool Fail(const char* step, int error);
};

// False: the step failed in a way that the jail cannot do without; the report names it.  A wall that
// the kernel refuses is no failure: its bit stays unset.
bool PinToCpus(Context& context);            // resources.cpp
bool GiveAwayFolders(Context& context);      // user.cpp; root's writable folders become the own user's
bool EnterUserNamespace(Context& context);   // user.cpp; an ordinary user's only key to the others
bool SeparateNamespaces(Context& context);   // namespaces.cpp
bool BuildRoot(Context& context);            // root.cpp
bool BecomeOwnUser(Context& context);        // user.cpp; root leaves its rights here
bool ForbidNewPrivileges(Context& context);  // user.cpp
bool RestrictFiles(Context& context);        // landlock.cpp
bool LimitResources(Context& context);       // resources.cpp
bool HoldProcessGroup(Context& context);     // seccomp.cpp; build profile without a pid namespace

// In the children.
int ArrangeDescriptors(Context& context);     // descriptors.cpp; the control socket's new number, or -1
[[noreturn]] void RunInit(Context& context);  // init.cpp

// All of it; true when init and job run.
bool Launch(Context& context);  // launch.cpp

}  // namespace assay::jail
