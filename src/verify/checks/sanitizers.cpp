// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "contract/shape.h"
#include "verify/check.h"

namespace assay {
namespace {

// Check 11: the same source with the compiler's checks for memory errors and undefined behaviour.  A source can see
// that it is built so and behave; hence this may refuse and never admit.  Buffers of the contract have guard pages in
// every process; what this adds is the kernel's own memory: its stack, its heap, its tables.
class SanitizerCheck : public Check {
 public:
  SanitizerCheck(const Candidate& candidate, Builder& builder) : candidate_(candidate), builder_(builder) {}
  std::string_view name() const override { return "sanitizers"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    auto built = builder_.Build(examination.contract(), candidate_, BuildVariant::kSanitized);
    if (!built.ok()) {
      if (built.error().code != ErrorCode::kUnavailable) return std::move(built).error();
      examination.NotChecked(built.error().message);
      return std::optional<Rejected>();
    }
    const auto* artifact = std::get_if<Artifact>(&built.value());
    if (artifact == nullptr) {
      examination.NotChecked("the source does not build with sanitizers: " +
                             std::get<Rejected>(built.value()).evidence);
      return std::optional<Rejected>();
    }
    Subject subject = examination.subject();
    subject.artifact = artifact;
    subject.seed = subject.seed.Derive("sanitizers");
    Examination other(subject);
    ASSAY_TRY(std::optional<Rejected> refused, Shapes(other, examination));
    for (int64_t i = 0; i < other.cases(); ++i) examination.CountCase();
    return refused;
  }

 private:
  static constexpr int kShapes = 4;

  Result<std::optional<Rejected>> Shapes(Examination& other, Examination& examination) const {
    Stream stream = other.Draws(name());
    for (const Shape& shape : DrawShapes(other.contract(), kShapes, {.flops = 2e6, .bytes = 1 << 20}, stream)) {
      Case c;
      c.shape = shape;
      c.calls = {Values::kMixed};
      c.seed = other.CaseSeed(name(), stream.Next());
      c.placement = stream.Next();
      ASSAY_TRY(ProbeOutcome started, other.StartProbe(c));
      if (const auto* rejected = std::get_if<Rejected>(&started)) {
        // The runtime has needs that a jail may refuse; that says nothing about the kernel.
        examination.NotChecked("a process with sanitizers does not start here: " + rejected->evidence);
        return std::optional<Rejected>();
      }
      Probe& probe = std::get<Probe>(started);
      ASSAY_TRY(const DrawnCall drawn, probe.Load(0, c.calls.front(), other.SlotSeed(c, 0)));
      other.CountCase();
      ASSAY_TRY(std::optional<Rejected> ended, probe.Run(0));
      if (!ended) continue;
      if (auto refused = Read(std::move(*ended))) return std::optional(other.Annotated(*refused, c, drawn.regimes));
      examination.NotChecked("a process with sanitizers ended for a reason of its own");
    }
    return std::optional<Rejected>();
  }

  // What the ending says about the kernel; none when it may be the runtime's own.
  static std::optional<Rejected> Read(Rejected ended) {
    const auto says = [&](std::string_view text) { return ended.evidence.find(text) != std::string::npos; };
    switch (ended.reason) {
      case Reason::kExited:
        if (!says("ERROR: AddressSanitizer")) return std::nullopt;
        ended.reason = says("WRITE of size")  ? Reason::kWroteOutside
                       : says("READ of size") ? Reason::kReadOutside
                                              : Reason::kCrash;
        ended.evidence = "a memory error that the address sanitizer found: " + ended.evidence;
        return ended;
      case Reason::kCrash:
        if (says("SIGILL")) {
          ended.evidence =
              "undefined behaviour that the compiler's checks found (an array index beyond its bounds, an integer "
              "division by zero, a shift by the width or more, a function that ends without its value): " +
              ended.evidence;
        }
        return ended;
      case Reason::kReadOutside:
      case Reason::kWroteOutside:
      case Reason::kWroteInput:
        return ended;
      default:
        return std::nullopt;
    }
  }

  const Candidate& candidate_;
  Builder& builder_;
};

}  // namespace

std::unique_ptr<Check> MakeSanitizerCheck(const Candidate& candidate, Builder& builder) {
  return std::make_unique<SanitizerCheck>(candidate, builder);
}

}  // namespace assay
