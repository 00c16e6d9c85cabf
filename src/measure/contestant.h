// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "language/instance.h"
#include "measure/inputs.h"
#include "record/seams.h"
#include "record/timing.h"

namespace assay {

// What all processes of one group share: one draw.
struct GroupDraw {
  uint64_t placement = 0;
  size_t environment_padding = 0;
  size_t stack_offset = 0;
  std::vector<int> cpus;
  std::vector<size_t> line_offsets;  // by tensor
};
GroupDraw DrawGroup(const Contract& contract, int threads, std::span<const int> processors, Stream& stream);

struct UnitRequest {
  std::vector<size_t> contents;  // of the InputDraw, one per call
  std::vector<size_t> slots;     // where they go, one per call; all others are decoys
  std::chrono::nanoseconds limit;
  double delay_seconds = 0;             // planted, spun inside the stamps
  CacheState state = CacheState::kHot;  // what the fill is followed by
};

struct UnitResult {
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;
};
using UnitVerdict = std::variant<UnitResult, Rejected>;

// One arm's process in one group, and the protocol of a unit: while it is stopped, poison and
// refill; run; then guards, CPU time and audit, drawn after the end stamp.
class Contestant {
 public:
  struct Spec {
    const Contract* contract = nullptr;
    const Shape* shape = nullptr;
    const Artifact* artifact = nullptr;
    int threads = 1;
    size_t slots = 2;  // at least one more than calls of a unit: the decoy
    WaitMode mode = WaitMode::kSleep;
  };
  using StartOutcome = std::variant<Contestant, Rejected>;
  static Result<StartOutcome> Start(const Spec& spec, const GroupDraw& draw);

  Result<UnitVerdict> Run(const UnitRequest& request, const InputDraw& inputs, Auditor& auditor, Stream& stream);

  int64_t null_ns() const { return null_ns_; }
  size_t slots() const { return instance_.slots(); }

 private:
  Contestant(const Spec& spec, const GroupDraw& draw, Instance instance)
      : spec_(spec), cpus_(draw.cpus), instance_(std::move(instance)) {}
  void Poison(Stream& stream);
  void Fill(const UnitRequest& request, const InputDraw& inputs, bool prepared);
  Result<std::optional<Rejected>> Prepare(const UnitRequest& request);
  Status MakeCold(CacheState state);
  Result<std::optional<Rejected>> Judge(const UnitRequest& request, const InputDraw& inputs, const UnitTiming& timing,
                                        Auditor& auditor);

  Spec spec_;
  std::vector<int> cpus_;
  Instance instance_;
  int64_t null_ns_ = 0;
  int64_t wall_ns_ = 0, cpu_ns_ = 0;  // of all units so far
};

// Check 13: more CPU time than `threads` processors had while the units ran, with room for clocks that lag.  The
// arithmetic, when it is too much.
std::optional<std::string> WorkOutsideUnits(int64_t cpu_ns, int64_t wall_ns, int threads);

}  // namespace assay
