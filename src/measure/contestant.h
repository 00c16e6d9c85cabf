// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "measure/part_process.h"
#include "record/seams.h"
#include "record/timing.h"

namespace assay {

GroupDraw DrawGroup(const Contract& contract, int threads, std::span<const int> processors, Stream& stream);

struct UnitRequest {
  UnitSlots calls;
  std::chrono::nanoseconds limit;
  double delay_seconds = 0;             // planted, spun inside the stamps
  CacheState state = CacheState::kHot;  // what the fill is followed by
};

struct UnitResult {
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;
  int64_t own_ns = 0;      // without null units and neighbours; 0 where there are no neighbours
  int64_t prepare_ns = 0;  // of RawUnit
};
using UnitVerdict = std::variant<UnitResult, Rejected>;

// One arm in one group, a process for each part of its chain, and the protocol of a unit: while they are stopped,
// poison and refill; run one part after the other; then guards, CPU time and audit, drawn after the last end stamp.
class Contestant {
 public:
  struct Spec {
    Chain chain;
    // Of an arm of several kernels: what they must do together, by the draw of this contract's inputs.
    const Contract* whole = nullptr;
    const Shape* whole_shape = nullptr;
    int threads = 1;
    size_t slots = 2;  // at least one more than calls of a unit: the decoy
    WaitMode mode = WaitMode::kSleep;
    CacheState state = CacheState::kHot;
  };
  using StartOutcome = std::variant<Contestant, Rejected>;
  // Error also when a neighbour does not start: it is nobody's candidate.
  static Result<StartOutcome> Start(const Spec& spec, const GroupDraw& draw);

  // `inputs`: the draws that the feeds of the chain's parts name.
  Result<UnitVerdict> Run(const UnitRequest& request, std::span<const InputDraw> inputs, Auditor& auditor,
                          Stream& stream);

  int64_t null_ns() const;  // of all parts
  size_t slots() const { return parts_.front().slots(); }

 private:
  Contestant(const GroupDraw& draw, const Spec& spec)
      : cpus_(draw.cpus), whole_(spec.whole), whole_shape_(spec.whole_shape) {}
  Status MakeCold(CacheState state);
  Result<std::optional<Rejected>> Ready(const UnitRequest& request, std::span<const InputDraw> inputs, Stream& stream);
  Result<std::optional<Rejected>> JudgeOwn(const UnitRequest& request, std::span<const InputDraw> inputs,
                                           Auditor& auditor);
  TimedCall Whole(size_t slot, size_t content, std::span<const InputDraw> inputs) const;
  std::span<const std::byte> WholeBytes(size_t tensor, size_t slot) const;
  Result<Rejected> Blame(size_t part, Rejected rejected, const UnitRequest& request, std::span<const InputDraw> inputs,
                         Auditor& auditor);

  std::vector<int> cpus_;
  const Contract* whole_;
  const Shape* whole_shape_;
  std::vector<PartProcess> parts_;
};

}  // namespace assay
