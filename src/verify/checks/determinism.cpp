// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "contract/shape.h"
#include "verify/check.h"

namespace assay {
namespace {

// The same call in two fresh processes at the same addresses and with as many threads must give the
// same bits: no process is shown one content twice, so a repeat inside one would prove nothing.
// Other threads and other addresses may round differently, within the bound.
class DeterminismCheck : public Check {
 public:
  std::string_view name() const override { return "determinism"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    Stream stream = examination.Draws(name());
    const Contract& contract = examination.contract();
    std::vector<Shape> shapes = DrawShapes(contract, 1, {.flops = 8e6, .bytes = 1 << 22}, stream);
    for (const Shape& timed : examination.subject().timed) shapes.push_back(timed);
    for (size_t s = 0; s < shapes.size(); ++s) {
      Case c;
      c.shape = shapes[s];
      c.calls = {Values::kMixed};
      c.seed = examination.CaseSeed(name(), s);
      c.placement = stream.Next();
      ASSAY_TRY(std::optional<Rejected> refused, Repeat(examination, c));
      if (refused) return refused;
      if (s > 0) continue;
      ASSAY_TRY(refused, Elsewhere(examination, c, stream.Next()));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

 private:
  struct Ran {
    std::vector<std::byte> outputs;
    std::string regimes;
    std::optional<Rejected> refused;
  };

  static Result<Ran> RunFresh(Examination& examination, const Case& c, bool compare) {
    Ran ran;
    ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
    if (auto* rejected = std::get_if<Rejected>(&started)) {
      ran.refused = examination.Annotated(std::move(*rejected), c, "");
      return ran;
    }
    Probe& probe = std::get<Probe>(started);
    ASSAY_TRY(const DrawnCall drawn, probe.Load(0, c.calls.front(), examination.SlotSeed(c, 0)));
    examination.CountCase();
    ran.regimes = drawn.regimes;
    ASSAY_TRY(ran.refused, probe.Run(0));
    if (ran.refused) {
      ran.refused = examination.Annotated(std::move(*ran.refused), c, drawn.regimes);
      return ran;
    }
    if (compare) {
      ASSAY_TRY(ran.refused, examination.CheckSlot(probe, c, 0));
    }
    if (!ran.refused) ran.outputs = probe.CopyOutputs(0);
    return ran;
  }

  static Result<std::optional<Rejected>> Repeat(Examination& examination, const Case& c) {
    if (examination.contract().policy.deterministic == Determinism::kNo) return std::optional<Rejected>();
    ASSAY_TRY(Ran first, RunFresh(examination, c, true));
    if (first.refused) return std::move(first.refused);
    ASSAY_TRY(Ran second, RunFresh(examination, c, false));
    if (second.refused) return std::move(second.refused);
    if (first.outputs == second.outputs) return std::optional<Rejected>();
    return Differs(examination, c, first, second, "a second process at the same addresses gave other bits");
  }

  // One thread instead of all, elsewhere in memory.
  static Result<std::optional<Rejected>> Elsewhere(Examination& examination, const Case& first, uint64_t placement) {
    Case c = first;
    c.placement = placement;
    c.threads = 1;
    ASSAY_TRY(Ran one, RunFresh(examination, c, true));
    if (one.refused) return std::move(one.refused);
    if (examination.contract().policy.deterministic != Determinism::kYes) return std::optional<Rejected>();
    ASSAY_TRY(const Ran all, RunFresh(examination, first, false));
    if (one.outputs == all.outputs) return std::optional<Rejected>();
    return Differs(examination, c, one, all, "another number of threads or other addresses gave other bits, which the policy forbids");
  }

  static std::optional<Rejected> Differs(Examination& examination, const Case& c, const Ran& one, const Ran& other, std::string what) {
    const auto at = std::mismatch(one.outputs.begin(), one.outputs.end(), other.outputs.begin(), other.outputs.end());
    what += "; the first differing byte is " + std::to_string(at.first - one.outputs.begin());
    return examination.Annotated(examination.Refuse(Reason::kNondeterministic, std::move(what)), c, one.regimes);
  }
};

}  // namespace

std::unique_ptr<Check> MakeDeterminismCheck() { return std::make_unique<DeterminismCheck>(); }

}  // namespace assay
