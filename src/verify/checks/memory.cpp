// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "contract/shape.h"
#include "verify/check.h"

namespace assay {
namespace {

// An output that no poison is NaN in throughout: integers, and one-byte floats, whose NaNs are single
// codes that no repeated word is made of.
bool HasTypeWithoutNan(const Contract& contract) {
  for (const Tensor& tensor : contract.tensors) {
    const DTypeInfo& info = Info(tensor.dtype);
    if (tensor.role != Role::kIn && !(info.has_nan && info.bits >= 16)) return true;
  }
  return false;
}

// Every unit of every check has guards, poison and a decoy; here the same call is placed against
// either guard page, and a pattern that could be an answer is told from one by its complement.
class MemoryCheck : public Check {
 public:
  std::string_view name() const override { return "memory"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    Stream stream = examination.Draws(name());
    const std::vector<Shape> shapes =
        DrawShapes(examination.contract(), kShapes, {.flops = 1e6, .bytes = 1 << 20}, stream);
    for (size_t s = 0; s < shapes.size(); ++s) {
      for (uint64_t side = 0; side < kPlacements; ++side) {
        Case c;
        c.shape = shapes[s];
        c.calls = {Values::kMixed};
        // One input, several processes: no process sees it twice.
        c.seed = examination.CaseSeed(name(), s);
        c.placement = stream.Next();
        c.honest = false;
        ASSAY_TRY(std::optional<Rejected> refused, examination.Run(c));
        if (refused) return refused;
      }
      if (!HasTypeWithoutNan(examination.contract())) continue;
      ASSAY_TRY(std::optional<Rejected> refused,
                Complementary(examination, shapes[s], stream.Next(), shapes.size() + s));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

 private:
  static constexpr int kShapes = 2;
  static constexpr uint64_t kPlacements = 4;

  // An integer has no NaN to be poisoned with: what differs under the complement was never written,
  // or was computed from bytes outside the inputs.
  static Result<std::optional<Rejected>> Complementary(Examination& examination, const Shape& shape, uint64_t placement,
                                                       uint64_t ordinal) {
    Case c;
    c.shape = shape;
    c.calls = {Values::kMixed};
    c.seed = examination.CaseSeed("memory", ordinal);
    c.placement = placement;
    std::vector<std::byte> first;
    for (const bool complement : {false, true}) {
      ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
      if (auto* rejected = std::get_if<Rejected>(&started))
        return std::optional(examination.Annotated(std::move(*rejected), c, ""));
      Probe& probe = std::get<Probe>(started);
      ASSAY_TRY(const DrawnCall drawn, probe.Load(0, Values::kMixed, examination.SlotSeed(c, 0), complement));
      examination.CountCase();
      ASSAY_TRY(std::optional<Rejected> refused, probe.Run(0));
      if (refused) return std::optional(examination.Annotated(std::move(*refused), c, drawn.regimes));
      const std::vector<std::byte> outputs = probe.CopyOutputs(0);
      if (!complement) first = outputs;
      if (complement && outputs != first) {
        return std::optional(examination.Annotated(
            examination.Refuse(Reason::kWrongAnswer,
                               "an output depends on what lay in it before the call, or beside the inputs"),
            c, drawn.regimes));
      }
    }
    return std::optional<Rejected>();
  }
};

}  // namespace

std::unique_ptr<Check> MakeMemoryCheck() { return std::make_unique<MemoryCheck>(); }

}  // namespace assay
