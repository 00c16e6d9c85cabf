// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "language/instance.h"
#include "measure/chain.h"
#include "measure/inputs.h"
#include "record/seams.h"

namespace assay {

// What all processes of one group share: one draw.
struct GroupDraw {
  uint64_t placement = 0;
  size_t environment_padding = 0;
  size_t stack_offset = 0;
  std::vector<int> cpus;
  std::vector<size_t> line_offsets;  // by tensor
};

// One unit's calls, each with the contents and the slot that it gets: the same for every part of a chain.
struct UnitSlots {
  std::vector<size_t> contents;  // of the draws, one per call
  std::vector<size_t> slots;     // where they go, one per call; all others are decoys
};

// The process of one part of a chain in one group.
class PartProcess {
 public:
  struct Spec {
    ChainPart part;
    int threads = 1;
    size_t slots = 2;
    WaitMode mode = WaitMode::kSleep;
    CacheState state = CacheState::kHot;
    std::vector<LentOutput> lent;  // what later parts read
  };
  using StartOutcome = std::variant<PartProcess, Rejected>;
  // `before`: the processes of the parts that stand before it in the chain.
  static Result<StartOutcome> Start(Spec spec, const GroupDraw& draw, std::span<const PartProcess> before);

  const ChainPart& part() const { return spec_.part; }
  int64_t null_ns() const { return null_ns_; }
  int64_t prepare_ns() const { return prepare_ns_; }  // of the unit that was prepared last; 0: it packs nothing
  size_t slots() const { return instance_.slots(); }
  std::span<const std::byte> Bytes(size_t tensor, size_t slot) const { return instance_.OutputBytes(tensor, slot); }

  void Poison(Stream& stream);
  // Weights that may be packed ahead of the calls (`prepared`), or everything else that no other part writes.
  void Fill(const UnitSlots& unit, std::span<const InputDraw> inputs, bool prepared);
  // Packs: only what may be packed is there then, so that it cannot compute what the calls are timed for.  Its time
  // is prepare_ns() then, null unit off.
  Result<std::optional<Rejected>> Prepare(const UnitSlots& unit, std::chrono::nanoseconds limit);
  // What a cache state wants flushed, decoys as well: which is which must not show in a cache either.
  void AddCold(CacheState state, std::vector<std::span<const std::byte>>& memory) const;
  std::vector<Call> Calls(const UnitSlots& unit, std::span<const InputDraw> inputs) const;
  Result<CallsOutcome> Run(std::span<const Call> calls, std::chrono::nanoseconds limit);
  // Guards, CPU time and the audit of the unit that ran last.
  Result<std::optional<Rejected>> Judge(const UnitSlots& unit, std::span<const InputDraw> inputs, Auditor& auditor);

 private:
  PartProcess(Spec spec, Instance instance) : spec_(std::move(spec)), instance_(std::move(instance)) {}
  bool Linked(size_t tensor) const;
  std::vector<double> Scalars(std::span<const InputDraw> inputs, size_t content) const;
  TimedCall Timed(size_t slot, size_t content, std::span<const InputDraw> inputs) const;

  Spec spec_;
  Instance instance_;
  int64_t null_ns_ = 0;
  int64_t prepare_ns_ = 0;
  int64_t wall_ns_ = 0, cpu_ns_ = 0;  // of all units so far
};

// Check 13: more CPU time than `threads` processors had while the units ran, with room for clocks that lag.  The
// arithmetic, when it is too much.
std::optional<std::string> WorkOutsideUnits(int64_t cpu_ns, int64_t wall_ns, int threads);

}  // namespace assay
