// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "contract/shape.h"
#include "verify/check.h"

namespace assay {
namespace {

// A shape whose every tensor fits where the larger one's lies; nothing when the contract has none.
std::optional<Shape> SmallerShape(const Contract& contract, const Shape& shape) {
  // An output at an input's address would have to lie so in both.
  if (!shape.aliases.empty()) return std::nullopt;
  std::map<std::string, int64_t> axes = shape.axes;
  for (const Axis& axis : contract.axes) {
    if (!axis.of.empty()) continue;
    const int64_t half = axes[axis.name] / 2;
    if (half < std::max<int64_t>(axis.min, 1)) continue;
    const int64_t before = std::exchange(axes[axis.name], half);
    auto dense = DenseShape(contract, axes);
    if (dense.ok()) dense.value().absent_tensors = shape.absent_tensors;
    if (!dense.ok() || !Legal(contract, dense.value())) axes[axis.name] = before;
  }
  if (axes == shape.axes) return std::nullopt;
  auto dense = DenseShape(contract, axes);
  if (!dense.ok()) return std::nullopt;
  dense.value().absent_tensors = shape.absent_tensors;
  for (const Tensor& tensor : contract.tensors) {
    const auto small = LayoutOf(contract, tensor, dense.value());
    const auto large = LayoutOf(contract, tensor, shape);
    // Between padded rows a dense smaller one would write where the larger call may not.
    if (!small.ok() || !large.ok() || small.value().byte_span > large.value().byte_span || large.value().padded)
      return std::nullopt;
  }
  return std::move(dense).value();
}

// A call of NaNs, another shape at the same addresses, new contents at old addresses, and two problems whose calls
// alternate: none may leave a trace in a later answer.
class HistoryCheck : public Check {
 public:
  std::string_view name() const override { return "history"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    Stream stream = examination.Draws(name());
    const Contract& contract = examination.contract();
    std::vector<Shape> shapes = DrawShapes(contract, 2, {.flops = 4e6, .bytes = 1 << 22}, stream);
    for (size_t s = 0; s < shapes.size(); ++s) {
      ASSAY_TRY(const Shape shape, Dense(contract, shapes[s]));
      ASSAY_TRY(std::optional<Rejected> refused, OneProcess(examination, shape, s, stream.Next()));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

 private:
  // Dense, so that another shape's strides mean something at these addresses.
  static Result<Shape> Dense(const Contract& contract, const Shape& shape) {
    ASSAY_TRY(Shape dense, DenseShape(contract, shape.axes));
    dense.absent_tensors = shape.absent_tensors;
    if (!Legal(contract, dense)) return shape;
    return dense;
  }

  Result<std::optional<Rejected>> OneProcess(Examination& examination, const Shape& shape, size_t ordinal,
                                             uint64_t placement) {
    Case c;
    c.shape = shape;
    // Slot 0 first, then slot 1, then slot 0 again with new contents; the seeds of the steps differ.
    c.calls = {Values::kMixed, Values::kFirst};
    c.seed = examination.CaseSeed(name(), ordinal);
    c.placement = placement;
    c.honest = false;
    ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
    if (auto* rejected = std::get_if<Rejected>(&started))
      return std::optional(examination.Annotated(std::move(*rejected), c, ""));
    Probe& probe = std::get<Probe>(started);
    ASSAY_TRY(const bool survived, CallWithNan(examination, probe, c));
    // NaN may be outside what the contract promises: dying of it is no fault, and a new process goes on.
    if (!survived) {
      ASSAY_TRY(started, examination.StartProbe(c));
      if (auto* rejected = std::get_if<Rejected>(&started))
        return std::optional(examination.Annotated(std::move(*rejected), c, ""));
    }
    ASSAY_TRY(std::optional<Rejected> refused, Steps(examination, std::get<Probe>(started), c));
    if (refused) return refused;
    ASSAY_TRY(refused, examination.CheckMachine(std::get<Probe>(started), c));
    if (refused) return refused;
    if (ordinal > 0) return refused;
    return Interleaved(examination, c);
  }

  static Result<bool> CallWithNan(Examination& examination, Probe& probe, const Case& c) {
    ASSAY_TRY_STATUS(probe.LoadNan(0, c.seed.Derive("nan call")));
    examination.CountCase();
    ASSAY_TRY(const std::optional<Rejected> refused, probe.Run(0));
    return !refused.has_value();
  }

  static Result<std::optional<Rejected>> Steps(Examination& examination, Probe& probe, const Case& c) {
    for (uint64_t step = 0; step < 4; ++step) {
      Case now = c;
      now.seed = c.seed.Derive("step", step);
      const size_t slot = step % 2;
      ASSAY_TRY(const DrawnCall drawn, probe.Load(slot, now.calls[slot], examination.SlotSeed(now, slot)));
      examination.CountCase();
      ASSAY_TRY(std::optional<Rejected> refused, probe.Run(slot));
      if (refused) return std::optional(examination.Annotated(std::move(*refused), now, drawn.regimes));
      ASSAY_TRY(refused, examination.CheckSlot(probe, now, slot));
      if (refused) return examination.BlamedOnHistory(now, slot, std::move(*refused));
      if (step != 1) continue;
      ASSAY_TRY(refused, OtherShape(examination, probe, now));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

  // A smaller call in the same process and at the same addresses, right by itself.
  static Result<std::optional<Rejected>> OtherShape(Examination& examination, Probe& probe, const Case& c) {
    const auto smaller = SmallerShape(examination.contract(), c.shape);
    if (!smaller || probe.prepares()) return std::optional<Rejected>();
    const Case other = At(c, *smaller, "smaller");
    ASSAY_TRY(const DrawnCall drawn, probe.LoadSmaller(0, *smaller, other.calls[0], examination.SlotSeed(other, 0)));
    examination.CountCase();
    ASSAY_TRY(std::optional<Rejected> refused, probe.Run(0));
    if (refused) return std::optional(examination.Annotated(std::move(*refused), other, drawn.regimes));
    ASSAY_TRY(refused, examination.CheckSlot(probe, other, 0));
    if (refused) return examination.BlamedOnHistory(other, 0, std::move(*refused));
    return refused;
  }

  // Two problems of different sizes whose calls alternate within one unit, as layers of a model do: what a kernel keeps
  // of the one must not serve the other.
  static Result<std::optional<Rejected>> Interleaved(Examination& examination, const Case& first) {
    const auto smaller = SmallerShape(examination.contract(), first.shape);
    Case c = first;
    c.calls.assign(kInterleaved, Values::kMixed);
    c.seed = first.seed.Derive("interleaved");
    ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
    if (auto* rejected = std::get_if<Rejected>(&started))
      return std::optional(examination.Annotated(std::move(*rejected), c, ""));
    Probe& probe = std::get<Probe>(started);
    std::vector<size_t> slots;
    std::vector<Case> cases;
    for (size_t slot = 0; slot < kInterleaved; ++slot) {
      const bool small = slot % 2 == 1 && smaller && !probe.prepares();
      cases.push_back(small ? At(c, *smaller, "other") : c);
      const Seed seed = examination.SlotSeed(cases.back(), slot);
      const auto loaded =
          small ? probe.LoadSmaller(slot, *smaller, c.calls[slot], seed) : probe.Load(slot, c.calls[slot], seed);
      if (!loaded.ok()) return loaded.error();
      slots.push_back(slot);
      examination.CountCase();
    }
    ASSAY_TRY(std::optional<Rejected> refused, probe.Run(slots));
    if (refused) return std::optional(examination.Annotated(std::move(*refused), c, probe.drawn(0).regimes));
    for (const size_t slot : slots) {
      ASSAY_TRY(refused, examination.CheckSlot(probe, cases[slot], slot));
      if (refused) return examination.BlamedOnHistory(cases[slot], slot, std::move(*refused));
    }
    return examination.CheckMachine(probe, c);
  }

  static Case At(const Case& c, const Shape& shape, std::string_view purpose) {
    Case other = c;
    other.shape = shape;
    other.seed = c.seed.Derive(purpose);
    return other;
  }

  static constexpr size_t kInterleaved = 4;
};

}  // namespace

std::unique_ptr<Check> MakeHistoryCheck() { return std::make_unique<HistoryCheck>(); }

}  // namespace assay
