// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "contract/shape.h"
#include "verify/check.h"

namespace assay {
namespace {

// A shape whose every tensor fits where the larger one's lies; nothing when the contract has none.
std::optional<Shape> SmallerShape(const Contract& contract, const Shape& shape) {
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
    if (!small.ok() || !large.ok() || small.value().byte_span > large.value().byte_span) return std::nullopt;
  }
  return std::move(dense).value();
}

// A call of NaNs, another shape at the same addresses, and new contents at old addresses: none may
// leave a trace in a later answer.
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
    return Steps(examination, std::get<Probe>(started), c);
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

  // A smaller call in the same process and at the same addresses; only its survival is looked at
  // here, the steps around it see what it left behind.
  static Result<std::optional<Rejected>> OtherShape(Examination& examination, Probe& probe, const Case& c) {
    const auto smaller = SmallerShape(examination.contract(), c.shape);
    if (!smaller) return std::optional<Rejected>();
    ASSAY_TRY(DrawnCall drawn, probe.Load(0, Values::kFirst, c.seed.Derive("smaller")));
    ASSAY_TRY(drawn, DrawCall(examination.contract(), *smaller, Values::kFirst, c.seed.Derive("smaller", 1),
                              [&](size_t tensor) { return probe.InputBytes(tensor, 0); }));
    examination.CountCase();
    ASSAY_TRY(std::optional<Rejected> refused, probe.RunSmaller(0, *smaller, drawn));
    if (!refused) return refused;
    Case other = c;
    other.shape = *smaller;
    return std::optional(examination.Annotated(std::move(*refused), other, drawn.regimes));
  }
};

}  // namespace

std::unique_ptr<Check> MakeHistoryCheck() { return std::make_unique<HistoryCheck>(); }

}  // namespace assay
