// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "contract/shape.h"
#include "verify/check.h"
#include "verify/checks/repeat.h"

namespace assay {
namespace {

// Bitwise at one number of threads and at the same addresses; other threads and other addresses may
// round differently, within the bound.  The timed shapes are repeated by the check of their own.
class DeterminismCheck : public Check {
 public:
  std::string_view name() const override { return "determinism"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    Stream stream = examination.Draws(name());
    Case c;
    c.shape = DrawShapes(examination.contract(), 1, {.flops = 8e6, .bytes = 1 << 22}, stream).front();
    c.calls = {Values::kMixed};
    c.seed = examination.CaseSeed(name(), 0);
    c.placement = stream.Next();
    ASSAY_TRY(FreshRun first, RunFresh(examination, c, true));
    if (first.refused) return std::move(first.refused);
    ASSAY_TRY(std::optional<Rejected> refused, RepeatsTo(examination, c, first.outputs));
    if (refused) return refused;
    return Elsewhere(examination, c, first, stream.Next());
  }

 private:
  // One thread instead of all, elsewhere in memory.
  static Result<std::optional<Rejected>> Elsewhere(Examination& examination, Case c, const FreshRun& first,
                                                   uint64_t placement) {
    c.placement = placement;
    c.threads = 1;
    ASSAY_TRY(FreshRun one, RunFresh(examination, c, true));
    if (one.refused) return std::move(one.refused);
    if (examination.contract().policy.deterministic != Determinism::kYes || one.outputs == first.outputs) {
      return std::optional<Rejected>();
    }
    return std::optional(
        Differs(examination, c, one.regimes, first.outputs, one.outputs,
                "another number of threads or other addresses gave other bits, which the policy forbids"));
  }
};

}  // namespace

std::unique_ptr<Check> MakeDeterminismCheck() { return std::make_unique<DeterminismCheck>(); }

}  // namespace assay
