// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/limits.h"

// What the supervisor tells the launcher: one message of text and descriptors, one answer.
namespace assay::jail {

enum class Profile : uint32_t { kBuild, kRunner };

// `source` of the host at `target` inside; a folder is bound with all that is mounted in it.
struct Bind {
  std::string source;
  std::string target;
  bool writable = false;
};

struct JailPlan {
  Profile profile = Profile::kBuild;
  bool refuse_namespaces = false;  // as if the kernel did: the fallback's test hook
  uint32_t own_user = 0;           // root only: the user id to become; 0 when not root
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string directory;  // working directory inside; empty: /
  std::vector<Bind> binds;
  std::vector<Bind> links;  // symbolic links to make: `target` says `source`
  std::string copy_target;  // the artifact is copied to this file; empty: none
  std::vector<int32_t> cpus;
  // Resource limits; process_limit 0: not set, because the count would include strangers.
  uint64_t address_space = 0;
  uint64_t cpu_seconds = 0;
  uint64_t file_size = 0;
  uint64_t descriptors = 0;
  uint64_t stack = 0;
  uint64_t processes = 0;
  uint32_t threads = 0;  // runner: the budget that pid 1 judges by; 0: any number
};

std::string Encode(const JailPlan& plan);
std::optional<JailPlan> Decode(const std::string& bytes);

// The launcher's descriptors; 1 and 2 are the job's output.
inline constexpr int kControlFd = 3;

// Order of the descriptors that travel with the plan.
//   0: the encoded plan (a memfd)   1: the lifeline's end for pid 1
//   runner only, the job's, in the order of its numbers: plan, report, artifact (a sealed memfd), buffers...
inline constexpr uint32_t kFixedDescriptors = 2;

// What stands, as bits, so that it can travel.
inline constexpr uint32_t kUserNamespace = 1;
inline constexpr uint32_t kPidNamespace = 2;
inline constexpr uint32_t kEmptyRoot = 4;
inline constexpr uint32_t kNetworkNamespace = 8;
inline constexpr uint32_t kIpcNamespace = 16;
inline constexpr uint32_t kUtsNamespace = 32;
inline constexpr uint32_t kSeccomp = 64;  // the build profile's; the runner's comes later
inline constexpr uint32_t kNoNewPrivileges = 128;
inline constexpr uint32_t kResourceLimits = 256;
inline constexpr uint32_t kOwnUser = 512;
inline constexpr uint32_t kProcessLimit = 1024;

struct LaunchReport {
  int32_t error = 0;  // errno of the step that failed; 0: launched
  uint32_t walls = 0;
  int32_t landlock = 0;  // ABI version
  int32_t init = 0;      // both as the supervisor sees them
  int32_t job = 0;
  char step[64] = {};
};

// What pid 1 tells the supervisor over the lifeline.
enum class Refusal : uint32_t { kNone, kCall, kThreadBudget };
struct RefusalReport {
  Refusal refusal = Refusal::kNone;  // kNone: it only says that it received the listener
  uint32_t arch = 0;
  int64_t number = 0;
  uint64_t arguments[6] = {};
};

// What the supervisor tells pid 1, with two descriptors: a pidfd of the runner and its task folder.
struct WatchOrder {
  uint32_t threads = 0;
  uint32_t zero = 0;
};

}  // namespace assay::jail
