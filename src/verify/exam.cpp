// SPDX-License-Identifier: Apache-2.0
#include "verify/exam.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "contract/shape.h"

namespace assay {
namespace {

// Check 1: two builds of one source are one program.
class RebuildCheck : public Check {
 public:
  explicit RebuildCheck(const ExamPlan& plan) : plan_(plan) {}
  std::string_view name() const override { return "builds twice to the same code"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    if (!plan_.rebuild) return std::optional<Rejected>();
    examination.CountCase();
    return plan_.rebuild(examination.contract(), *plan_.candidate);
  }

 private:
  ExamPlan plan_;
};

// The same source by another compiler: a kernel that is right by the luck of one compiler's choices
// is wrong.  It may only reject; a source that this compiler cannot read says nothing.
class SecondCompilerCheck : public Check {
 public:
  explicit SecondCompilerCheck(const ExamPlan& plan) : plan_(plan) {}
  std::string_view name() const override { return "second compiler"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    auto built = plan_.builder->Build(examination.contract(), *plan_.candidate, BuildVariant::kSecondCompiler);
    if (!built.ok() && built.error().code == ErrorCode::kUnavailable) return std::optional<Rejected>();
    if (!built.ok()) return std::move(built).error();
    const auto* artifact = std::get_if<Artifact>(&built.value());
    if (artifact == nullptr) return std::optional<Rejected>();
    Subject subject = examination.subject();
    subject.artifact = artifact;
    subject.seed = subject.seed.Derive("second compiler");
    for (const auto& check : {MakeGlanceCheck(), MakeRegimesCheck(), MakeTimedGlanceCheck()}) {
      Examination other(subject);
      ASSAY_TRY(std::optional<Rejected> refused, check->Run(other));
      for (int64_t i = 0; i < other.cases(); ++i) examination.CountCase();
      if (!refused) continue;
      refused->evidence = "built by " + artifact->compiler + ": " + refused->evidence;
      return refused;
    }
    return std::optional<Rejected>();
  }

 private:
  ExamPlan plan_;
};

// Every slice of one call at every timed shape, where verify compares a draw.  Slices whose right answer is another's
// as well (rows of one constant) are asked again with other values: a row that holds its neighbour's answer is right
// there.
class FullComparisonCheck : public Check {
 public:
  std::string_view name() const override { return "full comparison at the timed shapes"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    Stream stream = examination.Draws(name());
    for (size_t w = 0; w < examination.subject().timed.size(); ++w) {
      Case c;
      c.shape = examination.subject().timed[w];
      c.calls = {Values::kMixed};
      std::vector<int64_t> open = AllSlices(SliceCount(examination.contract(), c.shape));
      for (size_t call = 0; call < kCalls && !open.empty(); ++call) {
        c.seed = examination.CaseSeed(name(), w * kCalls + call);
        c.placement = stream.Next();
        ASSAY_TRY(std::optional<Rejected> refused, OneCall(examination, c, open));
        if (refused) return refused;
      }
    }
    return std::optional<Rejected>();
  }

 private:
  static constexpr size_t kCalls = 2;
  static constexpr int64_t kHonestSlices = 256;
  static constexpr int64_t kElementsAtOnce = 200'000;

  // Compares the slices that are open, and leaves in it those that proved nothing.
  static Result<std::optional<Rejected>> OneCall(Examination& examination, const Case& c, std::vector<int64_t>& open) {
    ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
    if (auto* rejected = std::get_if<Rejected>(&started))
      return std::optional(examination.Annotated(std::move(*rejected), c, ""));
    Probe& probe = std::get<Probe>(started);
    ASSAY_TRY(const DrawnCall drawn, probe.Load(0, c.calls.front(), examination.SlotSeed(c, 0)));
    examination.CountCase();
    ASSAY_TRY(std::optional<Rejected> refused, probe.Run(0));
    if (refused) return std::optional(examination.Annotated(std::move(*refused), c, drawn.regimes));
    return Compare(examination, probe, c, open);
  }

  static Result<std::optional<Rejected>> Compare(Examination& examination, Probe& probe, const Case& c,
                                                 std::vector<int64_t>& open) {
    const int64_t count = SliceCount(examination.contract(), c.shape);
    Stream stream(c.seed.Derive("honest slices"));
    std::vector<int64_t> some = DrawSlices(count, kHonestSlices, stream);
    ASSAY_TRY(std::optional<Rejected> refused, examination.CompareSlices(probe, c, 0, some, some.size()));
    int64_t at_once = 0;
    for (const Tensor& tensor : examination.contract().tensors) {
      if (tensor.role == Role::kIn) continue;
      ASSAY_TRY(const TensorLayout layout, LayoutOf(examination.contract(), tensor, c.shape));
      at_once += layout.element_count;
    }
    at_once = std::max<int64_t>(1, kElementsAtOnce * count / std::max<int64_t>(at_once, 1));
    std::vector<uint64_t> prints;
    const std::span<const int64_t> all(open);
    for (size_t first = 0; first < all.size() && !refused; first += static_cast<size_t>(at_once)) {
      const std::span<const int64_t> slices =
          all.subspan(first, std::min(static_cast<size_t>(at_once), all.size() - first));
      ASSAY_TRY(refused, examination.CompareSlices(probe, c, 0, slices, 0, &prints));
    }
    if (!refused) open = SharedAnswers(open, prints);
    return refused;
  }
};

}  // namespace

Checks ExamChecks(const ExamPlan& plan) {
  Checks checks;
  checks.push_back(std::make_unique<RebuildCheck>(plan));
  checks.push_back(std::make_unique<SecondCompilerCheck>(plan));
  checks.push_back(MakeSanitizerCheck(*plan.candidate, *plan.builder));
  checks.push_back(std::make_unique<FullComparisonCheck>());
  return checks;
}

}  // namespace assay
