// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "sandbox/buffer.h"
#include "sandbox/jailed_process.h"
#include "sandbox/process_facts.h"
#include "sandbox/ring.h"
#include "sandbox/session.h"

namespace assay {

// What session_*.cpp share.  Plan and report are mappings of this process; `report` is read-only
// even here, since nobody but the runner and pid 1 has anything to say in it.
struct Session::State {
  ~State();

  SessionSpec spec;
  std::vector<Buffer> buffers;
  std::vector<uint64_t> addresses;  // of each buffer's slot 0 in the runner
  UniqueFd plan_fd, report_fd, output_fd, artifact_fd, tasks_fd;
  ring::Plan* plan = nullptr;
  const ring::Report* report = nullptr;
  std::optional<JailedProcess> process;
  bool stopped = false;
  uint32_t sequence = 0;
  int64_t cpu_ns = 0;       // of the process when it was last stopped
  std::vector<int> pinned;  // threads that have a processor of their own
  ProcessFacts facts;       // when the artifact had just been loaded; empty for trusted code
  std::optional<jail::RefusalReport> refusal;

  uint64_t SlotAddress(int buffer, int slot) const;
  // Whether the runner woke us; false at the limit.  `wakes` counts.
  bool AwaitDone(uint32_t before, std::chrono::nanoseconds limit, WaitMode mode, int& wakes) const;
  void TakeMessages();
  std::string Printed() const;
  int ThreadsNow() const;
  // Gives each thread of the team one processor.
  void PinTeam();
  // The process is dead and reaped: what to tell about it.
  Ended Explain(const Ending& ending);
};

long WakeFutex(const std::atomic<uint32_t>* word);
int64_t MonotonicNs();
// The first kilobytes of a small file of /proc; empty when it cannot be read.
std::string ReadProcFile(const std::string& path);
// CPU time of all threads of a process; exact while it is stopped.
int64_t ProcessCpuNs(pid_t pid);
// Its threads, the oldest first: the main thread, the team, then what a trusted library started.
std::vector<int> ThreadsOf(pid_t pid);
// Ten rounds of where each thread stands; leaves the process stopped.  Empty when it died meanwhile.
std::vector<ThreadSample> SampleThreads(Session::State& state);

}  // namespace assay
