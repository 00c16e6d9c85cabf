// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"
#include "record/candidate.h"
#include "record/verdict.h"
#include "sandbox/session.h"
#include "sandbox/unit.h"

namespace assay {

// One process of one artifact at one shape.  Everything pointed at must outlive Start only.
struct InstanceSpec {
  const Contract* contract = nullptr;
  const Artifact* artifact = nullptr;
  const Shape* shape = nullptr;
  int threads = 1;
  size_t slots = 1;             // calls of one unit that never share a buffer
  uint64_t placement_draw = 0;  // equal draws give equal offsets and addresses
  std::vector<int> processors;  // to pin to; empty = wherever the kernel likes
  std::chrono::milliseconds load_limit{20000};
  Stage stage = Stage::kLoad;   // where a failure to load is booked
};

class Instance;
using InstanceOutcome = std::variant<Instance, Rejected>;
using UnitOutcome = std::variant<Completed, Rejected>;

// The one place where a contract's arguments become buffers of a process: a shared buffer for each
// present tensor (and for scratch), cut into slots, each slot between guards.
class Instance {
 public:
  // Rejected{load}: it does not load, lacks the entry, or asks for more scratch than the policy gives.
  static Result<InstanceOutcome> Start(const InstanceSpec& spec);

  Instance(Instance&&) noexcept;
  Instance& operator=(Instance&&) noexcept;
  ~Instance();

  size_t slots() const;
  bool Present(size_t tensor) const;  // not null at this shape
  const TensorLayout& LayoutOf(size_t tensor) const;

  // Tensors by their index in contract.tensors.  Spans are layout.byte_span long (empty when absent)
  // and are the supervisor's own view; an inout tensor is one buffer under both names.
  // InputBytes may be written only while no unit runs.
  std::span<std::byte> InputBytes(size_t tensor, size_t slot);
  std::span<const std::byte> OutputBytes(size_t tensor, size_t slot) const;

  // Arguments in C order; `scalars` in the order of contract.scalars.
  Call CallFor(size_t slot, std::span<const double> scalars) const;

  // Poisons every output of the slot, its gaps and surroundings, and the scratch.  Float types get
  // NaNs whose payload is drawn from `pattern`; types without NaN get the pattern itself, so that
  // `pattern` and `~pattern` are complementary.  Inout tensors keep their contents, only what lies around them is poisoned.
  void PoisonOutputs(size_t slot, uint64_t pattern);
  // The eight bytes that PoisonOutputs repeats from the slot's first byte on.
  uint64_t PoisonWord(size_t tensor, size_t slot) const;

  // After a unit: gaps, surroundings, and every slot that no call of the last unit was given still
  // hold their poison; else wrote_outside with tensor, slot and offset.  Slots never poisoned are skipped.
  Result<std::optional<Rejected>> CheckGuards(Stage stage) const;

  // Publishes the calls as one unit and maps every ending that is not a completion to its Reason.
  // Error: the harness could not run it.
  Result<UnitOutcome> RunUnit(std::span<const Call> calls, std::chrono::milliseconds limit, UnitMode mode, Stage stage);

  int64_t scratch_bytes() const;
  Session& session();

 private:
  struct State;
  explicit Instance(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
