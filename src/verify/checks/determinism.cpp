// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

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
    for (const int threads : Counts(examination)) {
      ASSAY_TRY(refused, Elsewhere(examination, c, first, threads, stream.Next()));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

 private:
  // The budget again, at other addresses; one thread; and a number that divides few things, where the contract does not
  // fix the number.
  static std::vector<int> Counts(const Examination& examination) {
    const int budget = examination.subject().threads;
    std::vector<int> counts{budget};
    if (budget != 1) counts.push_back(1);
    if (examination.contract().policy.threads == 0 && budget != kOdd) counts.push_back(kOdd);
    return counts;
  }
  static constexpr int kOdd = 3;

  static Result<std::optional<Rejected>> Elsewhere(Examination& examination, Case c, const FreshRun& first, int threads,
                                                   uint64_t placement) {
    c.placement = placement;
    c.threads = threads;
    ASSAY_TRY(FreshRun other, RunFresh(examination, c, true));
    if (other.refused) return std::move(other.refused);
    if (examination.contract().policy.deterministic != Determinism::kYes || other.outputs == first.outputs) {
      return std::optional<Rejected>();
    }
    return std::optional(
        Differs(examination, c, other.regimes, first.outputs, other.outputs,
                "another number of threads or other addresses gave other bits, which the policy forbids"));
  }
};

}  // namespace

std::unique_ptr<Check> MakeDeterminismCheck() { return std::make_unique<DeterminismCheck>(); }

}  // namespace assay
