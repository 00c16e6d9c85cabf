// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/clock.h"
#include "measure/course.h"
#include "measure/lease.h"

namespace assay {

// What the three strengths of evidence share.
struct KernelTimer::State {
  State(Auditor& the_auditor, TimerOptions the_options) : auditor(the_auditor), options(std::move(the_options)) {}

  // Under the lease, because neighbours are timed.  Courses are kept from call to call with the paces that their
  // runners have seen.
  Status Prepare(const Contract& contract);
  Result<MachineLease> Lease();
  Status GiveWay(MachineLease& lease) const;
  // Of the contract's unit.  Null when calibration is off.
  Result<RunRates*> RatesFor(int threads);
  Result<RunRates> MeasuredRates(int threads, const std::string& unit) const;
  // One group, drawn once more when others disturbed it; its units go to `units`, redrawn ones marked.
  Result<GroupResult> QuietGroup(Course& course, std::span<const Arm> arms, Depth depth, std::vector<RawUnit>& units);
  void Tell(const std::string& what) const {
    if (options.progress) options.progress(what);
  }
  // The candidate's time against what is possible at all.
  std::optional<Rejected> CheckPhysics(const Course& course, double seconds, const std::string& arm,
                                       std::span<const RawUnit> units, RunRates* rates) const;

  Auditor& auditor;
  TimerOptions options;
  std::optional<Verified> witness;
  const Contract* contract = nullptr;
  Digest contract_hash;
  std::vector<Course> courses;
  std::map<std::pair<int, std::string>, RunRates> rates;  // by threads and unit
  int next_group = 0;                                     // unique over the campaign
  std::map<std::string, Power> power;                     // by workload, stated once a session
  bool control_found = false;                             // a planted 3 % was found in this session
};

// Seconds since it was made, less those that went by in waiting for other programs.
class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(Now() - start_).count(); }

 private:
  static std::chrono::nanoseconds Now() {
    return std::chrono::steady_clock::now().time_since_epoch() - MachineLease::Waited();
  }
  std::chrono::nanoseconds start_ = Now();
};

Rejected RefusedWhileTimed(Reason reason, std::string check, std::string evidence);

}  // namespace assay
