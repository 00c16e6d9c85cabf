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

class Instance;

// An input that lies where an earlier instance's output does: cache lines stay where that one left them.
struct Handover {
  size_t tensor = 0;
  const Instance* from = nullptr;
  size_t output = 0;  // lent there
};
// An output that a later instance reads, at its alignment.
struct LentOutput {
  size_t tensor = 0;
  size_t align = 1;
};

// One process of one artifact at one shape.  Everything pointed at must outlive Start only.
struct InstanceSpec {
  const Contract* contract = nullptr;
  const Artifact* artifact = nullptr;
  const Shape* shape = nullptr;
  int threads = 1;
  size_t slots = 1;                // calls of one unit that never share a buffer, and decoys
  uint64_t placement_draw = 0;     // equal draws give equal offsets and addresses
  size_t environment_padding = 0;  // these three as in SessionSpec
  size_t stack_offset = 0;
  std::vector<int> cpus;
  std::vector<size_t>
      line_offsets;  // by tensor: whole lines by which the payload keeps off its guard page; empty = none
  std::vector<Handover> handed;
  std::vector<LentOutput> lent;
  Stage stage = Stage::kLoad;  // where a failure to load is booked
};

using InstanceOutcome = std::variant<Instance, Rejected>;
using CallsOutcome = std::variant<Completed, Rejected>;

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
  // An input whose memory is an output's as well (Shape::aliases): a call overwrites it.
  bool Lends(size_t tensor) const;
  const TensorLayout& LayoutOf(size_t tensor) const;

  // Tensors by their index in contract.tensors.  Spans are layout.byte_span long (empty when absent)
  // and are the supervisor's own view; an inout tensor is one buffer under both names.
  // InputBytes are asked for to be written, which is allowed only while no unit runs, and never of what is handed over.
  std::span<std::byte> InputBytes(size_t tensor, size_t slot);
  std::span<const std::byte> OutputBytes(size_t tensor, size_t slot) const;

  // What Handover takes: the pages of an output that InstanceSpec::lent names.
  Result<std::shared_ptr<const LentPages>> Lend(size_t tensor) const;

  // The packed form of the prepared tensors in this slot; empty when the artifact does not pack.
  std::span<const std::byte> PackedBytes(size_t slot) const;

  // Arguments in C order; `scalars` in the order of contract.scalars.
  Call CallFor(size_t slot, std::span<const double> scalars) const;

  // The call of ENTRY_prepare for the slot; none when the artifact does not prepare.  To be run in a
  // unit of its own whenever the prepared inputs changed.
  std::optional<Call> PrepareCall(size_t slot) const;

  // Poisons the outputs of the slot and what lies around all its buffers; the next unit finds its
  // scratch poisoned too.  Take a fresh draw for each slot and unit.  Types without NaN get the
  // complement of the pattern when asked for: two runs with complementary poison must agree.
  // Inout tensors are outputs here, so poison first and fill after.
  void PoisonOutputs(size_t slot, uint64_t draw, bool complement = false);
  // Blanks what is no element in a copy of an output: gaps between rows, and the half byte behind an odd
  // number of packed elements.  Poison stands there, and not the same in two runs.
  void BlankGaps(size_t tensor, std::span<std::byte> copy) const;
  // Whether these payload bytes of an output are all still poison.
  bool StillPoison(size_t tensor, size_t slot, size_t offset, size_t bytes) const;

  // After a unit: gaps between rows, surroundings, and the whole of every poisoned slot that no call of
  // the last unit was given still hold their poison; else wrote_outside with tensor, slot and offset.
  Result<std::optional<Rejected>> CheckGuards(Stage stage) const;
  // The same for the gaps of an inout tensor, which hold what they were filled with: `before` is the
  // whole tensor as it was.
  std::optional<Rejected> CheckGaps(size_t tensor, size_t slot, std::span<const std::byte> before, Stage stage) const;

  // Publishes the calls as one unit and maps every ending that is not a clean completion to its
  // Reason.  After a Rejected nothing can be run here any more.  Error: the harness could not run it.
  Result<CallsOutcome> RunUnit(std::span<const Call> calls, std::chrono::nanoseconds limit, WaitMode mode, Stage stage);

  // The state that the calls so far left behind: control registers of every thread of the team, and what the kernel
  // says of the process.  To be asked once the outputs have been looked at, because the process runs on meanwhile.
  // `unseen`: that /proc does not tell us here.
  Result<std::optional<Rejected>> CheckMachine(std::chrono::nanoseconds limit, Stage stage, bool& unseen);

  int64_t scratch_bytes() const;
  Session& session();

 private:
  struct State;
  explicit Instance(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
