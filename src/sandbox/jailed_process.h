// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/jail/plan.h"
#include "sandbox/outcome.h"
#include "sandbox/walls.h"

namespace assay {

// How a process ended, as the kernel told its parent.
struct Ending {
  int code;    // CLD_EXITED, CLD_KILLED, CLD_DUMPED
  int status;  // exit code or signal
};

// The job and the pid 1 of one jail, both children of this process and buried by this object.
class JailedProcess {
 public:
  // Starts assay-jail, hands it the plan and waits until the job's program runs.  `output` becomes
  // its standard output and error.
  static Result<JailedProcess> Launch(const jail::JailPlan& plan, std::span<const int> job_descriptors, int output);

  JailedProcess(JailedProcess&& other) noexcept;
  JailedProcess& operator=(JailedProcess&& other) noexcept;
  ~JailedProcess() { Bury(); }

  pid_t job() const { return job_; }
  bool alive() const { return job_ > 0; }
  const Walls& walls() const { return walls_; }
  Walls& walls() { return walls_; }
  int lifeline() const { return lifeline_.get(); }

  // Gives pid 1 what it needs to judge and to end the runner.
  Status OrderWatch(uint32_t threads, int tasks);

  // Stops all threads of the job; an Ending when it died instead.  Afterwards nothing of it moves.
  Result<std::optional<Ending>> Stop(bool spin);
  void Continue();
  // The Ending when the job is dead; reaps it.
  Result<std::optional<Ending>> Poll();
  // Ends all, waits for all.  What was not yet known of the job's end is lost.
  void Bury();
  // The next message of pid 1, if there is one.
  std::optional<jail::RefusalReport> TakeReport();

 private:
  JailedProcess() = default;
  Result<std::optional<Ending>> WaitFor(int options);

  pid_t group_ = -1;  // the launcher's number; lives on as the group of the others
  pid_t init_ = -1;
  pid_t job_ = -1;
  UniqueFd lifeline_;
  Walls walls_;
};

// The refusal as an outcome.
ForbiddenCall ToForbiddenCall(const jail::RefusalReport& report);

}  // namespace assay
