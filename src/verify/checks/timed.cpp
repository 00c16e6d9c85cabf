// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "verify/check.h"
#include "verify/checks/repeat.h"

namespace assay {
namespace {

// What the clock does: unit after unit at the timed shape, every slot with new contents each time.
class TimedShapesCheck : public Check {
 public:
  std::string_view name() const override { return "timed shapes"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    Stream stream = examination.Draws(name());
    for (size_t w = 0; w < examination.subject().timed.size(); ++w) {
      Case c;
      c.shape = examination.subject().timed[w];
      c.calls = {Values::kMixed};
      c.seed = examination.CaseSeed(name(), w);
      c.placement = stream.Next();
      std::vector<std::byte> outputs;
      ASSAY_TRY(std::optional<Rejected> refused, Units(examination, c, outputs));
      if (refused) return refused;
      ASSAY_TRY(refused, RepeatsTo(examination, Unit(c, 0), outputs));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

 private:
  static constexpr uint64_t kUnits = 3;
  // Null units after the first one, for a thread that has not finished.
  static constexpr int kMoments = 2;

  static Case Unit(const Case& c, uint64_t unit) {
    Case now = c;
    now.seed = c.seed.Derive("unit", unit);
    now.honest = unit == 0;
    return now;
  }

  // `outputs`: what the first unit left.
  static Result<std::optional<Rejected>> Units(Examination& examination, const Case& c,
                                               std::vector<std::byte>& outputs) {
    ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
    if (auto* rejected = std::get_if<Rejected>(&started))
      return std::optional(examination.Annotated(std::move(*rejected), c, ""));
    Probe& probe = std::get<Probe>(started);
    for (uint64_t unit = 0; unit < kUnits; ++unit) {
      const Case now = Unit(c, unit);
      ASSAY_TRY(const DrawnCall drawn, probe.Load(0, now.calls.front(), examination.SlotSeed(now, 0)));
      examination.CountCase();
      ASSAY_TRY(std::optional<Rejected> refused, probe.Run(0));
      if (refused) return std::optional(examination.Annotated(std::move(*refused), now, drawn.regimes));
      ASSAY_TRY(refused, examination.CheckSlot(probe, now, 0));
      if (refused && unit > 0) return examination.BlamedOnHistory(now, 0, std::move(*refused));
      if (refused) return refused;
      if (unit > 0) continue;
      outputs = probe.CopyOutputs(0);
      ASSAY_TRY(const bool late, probe.ChangesLater(0, kMoments));
      if (late) {
        return std::optional(examination.Annotated(
            examination.Refuse(Reason::kLateWork, "an output changed after the unit had ended"), now, drawn.regimes));
      }
    }
    return examination.CheckMachine(probe, c);
  }
};

}  // namespace

std::unique_ptr<Check> MakeTimedShapesCheck() { return std::make_unique<TimedShapesCheck>(); }

}  // namespace assay
