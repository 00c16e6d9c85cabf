// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "measure/chain.h"
#include "measure/environment.h"
#include "measure/plan.h"
#include "measure/probe.h"
#include "record/seams.h"
#include "record/timing.h"

namespace assay {

class InputDraw;

// One contestant of a group: a process of its own, in an in-situ workload with those that run beside it.
struct Arm {
  std::string name;  // unique in its group; RawUnit::arm
  const Artifact* artifact = nullptr;
  const KernelChain* chain = nullptr;  // instead of an artifact: several kernels that together do its work
  bool trusted = false;                // baselines and peers: may be slow, set the time limit of the others
  // Further units of the same process with a delay of this share of their time: RawUnits of
  // `planted_name`.  The delay is spun by the supervisor between the start stamp and the unit, so
  // it is real time on the real clock; what is tested is whether this instrument, now, sees it.
  double plant = 0;
  std::string planted_name;

  // As much trusted as its code is.
  static Arm Of(std::string name, const Artifact& artifact) {
    return {.name = std::move(name), .artifact = &artifact, .trusted = artifact.trusted_code, .planted_name = {}};
  }
  static Arm Of(const KernelChain& chain) {
    return {.name = chain.name, .chain = &chain, .trusted = true, .planted_name = {}};
  }
  // What its pace is remembered by.
  const Digest& key() const { return chain != nullptr ? chain->key : artifact->file_hash; }
};

struct GroupResult {
  std::vector<RawUnit> units;                              // also of arms that were rejected later in the group
  std::vector<std::pair<std::string, Rejected>> rejected;  // by arm; it takes part no further
  Disturbance disturbance;
  bool disturbed = false;  // by others, never by an arm
  std::string why_disturbed;
  std::optional<double> slowed;        // by how much probes took longer than usual, as a share; none: not probed
  std::map<std::string, double> pace;  // arm -> seconds of a call, as planned with
};

struct GroupOptions {
  int threads = 1;  // of this workload
  Depth depth = Depth::kDecide;
  UnitLimits limits;
  int regime = -1;                  // all values of this kind (PureRegimes); -1: the contract's mixture
  Prober prober = ProbeProcessors;  // another in tests
};

// Restart groups of one contract and one workload.  A group is one draw of environment, placement,
// order and inputs that starts all arms; all but one are stopped while a unit runs.
class GroupRunner {
 public:
  // `around`: of an in-situ workload; else nobody.
  GroupRunner(const Contract& contract, const Workload& workload, Shape shape, Surroundings around, Auditor& auditor,
              Seed seed);
  ~GroupRunner();

  // Error: the harness could not do its work.  What a candidate does wrong is in `rejected`.
  Result<GroupResult> Run(int group, std::span<const Arm> arms, const GroupOptions& options);

  // Finds the pace of artifacts that were not timed here before, a process and a call or two each.
  Status Pace(std::span<const Arm> arms, const GroupOptions& options);
  // Seconds a call as last seen, if it was timed here before.
  std::optional<double> PaceOf(const Artifact& artifact) const;

 private:
  class Group;
  // What is drawn for each round, and who draws nothing because another kernel writes it.
  struct Source {
    const Contract* contract = nullptr;
    const Shape* shape = nullptr;
    std::set<size_t> others;
  };
  // Which of the contract's inputs some other kernel writes.
  static Source SourceOf(const Contract& contract, const Shape& shape, const std::string& passed);
  // Of the campaign's seed: every draw has an ordinal of its own.
  Seed NextSeed(std::string_view purpose);

  const Contract& contract_;
  const Workload& workload_;
  Shape shape_;
  Surroundings around_;
  Auditor& auditor_;
  Seed seed_;
  uint64_t draws_ = 0;
  std::map<Digest, double> pace_;        // seconds a call of artifacts seen before, by the hash of their bytes
  std::map<Digest, double> first_pace_;  // the same, when it was first seen
  std::vector<Source> sources_;
  std::vector<InputDraw> inputs_;  // kept, so that their pages are not made anew for each group
  ProbeLog probes_;
};

}  // namespace assay
