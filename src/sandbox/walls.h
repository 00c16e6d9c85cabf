// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace assay {

// Which walls stand around a jailed process.  `assay doctor` prints it and every verdict carries it,
// because "verified" on a machine without namespaces means less.
struct Walls {
  bool user_namespace = false;
  bool pid_namespace = false;
  bool empty_root = false;         // a read-only root with the listed files only
  bool network_namespace = false;  // no interface but a dead loopback
  bool ipc_namespace = false;
  bool uts_namespace = false;
  int landlock = 0;  // ABI version, 0 without
  bool seccomp = false;
  bool notification = false;   // refused calls reach pid 1 with number and arguments
  bool thread_budget = false;  // more threads than the budget are refused, not only noticed
  bool no_new_privileges = false;
  bool resource_limits = false;
  bool own_user = false;  // runs under a user id that nothing else has (root only)
  friend bool operator==(const Walls&, const Walls&) = default;

  // The names of those that do not stand, in the order above; own_user is never missed.
  std::vector<std::string> Missing() const;
  // "user pid root net ipc uts landlock7 seccomp notify threads nnp rlimits"
  std::string Summary() const;
};

// For tests and for `assay doctor`: pretends that the kernel refuses namespaces, or to hand refused
// calls to pid 1.
enum class WallMode { kAll, kWithoutNamespaces, kWithoutNotification };

// Raises every wall around a small program that then tries to climb over it, and starts a runner; a
// wall stands when its step succeeded and the attempt failed.
Result<Walls> ProbeWalls(WallMode mode = WallMode::kAll);

}  // namespace assay
