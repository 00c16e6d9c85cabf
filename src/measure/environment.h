// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/attempt.h"
#include "record/calibration.h"

namespace assay {

// Facts that make timings comparable; `walls` and `gaps` are for others to fill.
Machine ThisMachine();

// The processors this process may use, in order, as they were when first asked.
const std::vector<int>& AllowedProcessors();

// The data caches that a core sees, as the kernel names them, nearest first; none when it does not say.
std::vector<CacheLevel> CacheLevels();
// Bytes of the largest cache that a core sees; 32 MiB when the kernel does not say.
int64_t LastLevelCacheBytes();
// Of all data caches that the processors of this process have, all levels and instances together: what can lie in any
// of them.
int64_t AllCachesBytes();

// Bytes of memory that could be used without swapping; 0 when the kernel does not say.
int64_t AvailableMemoryBytes();

// What all processors and this process's own tree had used at one moment.
struct CpuSnapshot {
  std::chrono::steady_clock::time_point when;
  double busy_seconds = 0;        // of the measured processors: neither idle nor stolen, from an arbitrary origin
  double steal_seconds = 0;       // that the host took from them
  double self_seconds = 0;        // this process
  double helper_seconds = 0;      // of it, what OwnTime counted on the measured processors
  double descendant_seconds = 0;  // those that live, and those that were buried
};
Result<CpuSnapshot> TakeCpuSnapshot(const std::vector<int>& processors);

// Until the end of the scope the calling thread's time is this process's own on that processor, to which it is pinned.
// Whoever keeps to other processors and sends a thread to a measured one says so: else it would pass for a stranger.
class OwnTime {
 public:
  explicit OwnTime(int processor);
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;
  ~OwnTime();

 private:
  int processor_;
  int64_t began_ns_;
};

// What happened between two snapshots that no candidate can cause.
struct Disturbance {
  double wall_seconds = 0;
  double foreign_seconds = 0;  // busy on the measured processors beyond our own tree
  double steal_seconds = 0;
  double slowed = 0;  // by how much our own probes between the units took longer than usual, as a share
  std::string Describe() const;
};
// `self_elsewhere`: this process kept to processors that are not measured, so that of its time only what OwnTime
// counted is theirs.
Disturbance Between(const CpuSnapshot& before, const CpuSnapshot& after, bool self_elsewhere);

// The kernel counts in ticks of 10 ms per processor, so that less than `allowance` says nothing.
// Beyond it, more than 5 % of the wall time in foreign hands (or 2 % stolen) spoils a group.
inline constexpr double kForeignShare = 0.05;
inline constexpr double kStealShare = 0.02;
// A machine that does fixed work 5 % slower than usual has lost as much as one of which others hold 5 %, and need not
// have told the guest: its host runs more on the same cores, or has lowered the clock.
inline constexpr double kProbeShare = kForeignShare;
bool Disturbed(const Disturbance& disturbance, int processors);

}  // namespace assay
