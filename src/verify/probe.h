// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
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
#include "record/seams.h"
#include "verify/draw.h"

namespace assay {

struct ProbeSpec {
  const Contract* contract = nullptr;
  const Artifact* artifact = nullptr;
  Shape shape;
  Stage stage = Stage::kScreen;
  int threads = 1;
  size_t calls = 1;                                         // most calls of one unit; a decoy slot comes on top
  uint64_t placement = 0;                                   // equal draws give equal addresses
  std::chrono::nanoseconds limit{std::chrono::seconds(2)};  // of one unit
};

class Probe;
using ProbeOutcome = std::variant<Probe, Rejected>;

// One process of a candidate under examination.  Its calls are units of the same protocol that the
// clock uses: contents are written while it is stopped, outputs are poisoned afresh for each slot and
// unit, one slot more than there are calls is a decoy, and what is looked at is chosen afterwards.
class Probe {
 public:
  static Result<ProbeOutcome> Start(const ProbeSpec& spec, Stream draws);

  size_t slots() const { return instance_.slots(); }
  // The artifact packs some inputs ahead of its calls, for the process's own shape.
  bool prepares() const { return instance_.PrepareCall(0).has_value(); }
  const ProbeSpec& spec() const { return spec_; }

  // Poisons the slot, then draws a call into it.
  Result<DrawnCall> Load(size_t slot, Values values, const Seed& seed, bool complement = false);
  // Poisons the slot, then copies a call that was drawn elsewhere.
  void LoadBytes(size_t slot, const TimedCall& call);
  Status LoadNan(size_t slot, const Seed& seed);

  // The loaded slots as one unit; every other slot is a decoy.  Then guards, decoys and machine state.
  Result<std::optional<Rejected>> Run(std::span<const size_t> slots);
  Result<std::optional<Rejected>> Run(size_t slot) { return Run(std::span(&slot, 1)); }
  // Poisons the slot, then draws a call into it with other axes than the process was made for; every tensor of it must
  // fit where the larger one's lies.  What is beyond its outputs must stay poison.
  Result<DrawnCall> LoadSmaller(size_t slot, const Shape& smaller, Values values, const Seed& seed);

  // The slot as the audit sees it; valid while the probe lives and runs nothing.
  TimedCall Call(size_t slot) const;
  const DrawnCall& drawn(size_t slot) const { return drawn_[slot]; }
  std::vector<std::byte> CopyOutputs(size_t slot) const;

  // An element that no thread has written, in any pure output of the slot; nothing for types without NaN.
  // A tensor that is changed in place was full before: what was not written there is a wrong answer.
  struct Unwritten {
    size_t tensor;
    int64_t offset;
  };
  std::optional<Unwritten> FindUnwritten(size_t slot) const;

  // Lets the process run on without a call and says whether an output of the slot changes meanwhile.
  Result<bool> ChangesLater(size_t slot, int null_units);

  // What the calls left behind in the process, once its outputs have been looked at.
  Result<std::optional<Rejected>> CheckMachine(bool& unseen) {
    return instance_.CheckMachine(spec_.limit, spec_.stage, unseen);
  }

  std::span<std::byte> InputBytes(size_t tensor, size_t slot) { return instance_.InputBytes(tensor, slot); }

 private:
  using Contents = std::vector<std::vector<std::byte>>;  // by tensor

  Probe(ProbeSpec spec, Instance instance, Stream draws);
  // Keeps what the tensors that are changed in place, or lend their memory, hold now: the call that comes
  // will overwrite it.
  void KeepBefore(size_t slot);
  const Shape& ShapeOf(size_t slot) const { return smaller_[slot] ? *smaller_[slot] : spec_.shape; }
  // Bytes of this tensor that the slot's call may touch.
  size_t SpanOf(size_t tensor, size_t slot) const;
  std::optional<Rejected> CheckBeyond(size_t slot) const;
  Result<std::optional<Rejected>> RunCalls(std::span<const ::assay::Call> calls, std::span<const size_t> slots);

  ProbeSpec spec_;
  Instance instance_;
  Stream draws_;  // poison
  std::vector<DrawnCall> drawn_;
  std::vector<Contents> before_;  // by slot; empty but for inout tensors
  std::vector<bool> written_;     // holds an answer: poison it again before it serves as a decoy
  // By slot; none: the shape that the process was made for.  On the heap, because calls point at it.
  std::vector<std::unique_ptr<Shape>> smaller_;
};

}  // namespace assay
