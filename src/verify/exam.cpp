// SPDX-License-Identifier: Apache-2.0
#include "verify/exam.h"

#include <algorithm>
#include <utility>

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

// Every slice of one call at every timed shape, where verify compares a draw.
class FullComparisonCheck : public Check {
 public:
  std::string_view name() const override { return "full comparison at the timed shapes"; }

  Result<std::optional<Rejected>> Run(Examination& examination) override {
    Stream stream = examination.Draws(name());
    for (size_t w = 0; w < examination.subject().timed.size(); ++w) {
      Case c;
      c.shape = examination.subject().timed[w];
      c.calls = {Values::kMixed};
      c.seed = examination.CaseSeed(name(), w);
      c.placement = stream.Next();
      ASSAY_TRY(std::optional<Rejected> refused, OneShape(examination, c));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

 private:
  static constexpr int64_t kHonestSlices = 256;
  static constexpr int64_t kElementsAtOnce = 200'000;

  static Result<std::optional<Rejected>> OneShape(Examination& examination, const Case& c) {
    ASSAY_TRY(ProbeOutcome started, examination.StartProbe(c));
    if (auto* rejected = std::get_if<Rejected>(&started))
      return std::optional(examination.Annotated(std::move(*rejected), c, ""));
    Probe& probe = std::get<Probe>(started);
    ASSAY_TRY(const DrawnCall drawn, probe.Load(0, c.calls.front(), examination.SlotSeed(c, 0)));
    examination.CountCase();
    ASSAY_TRY(std::optional<Rejected> refused, probe.Run(0));
    if (refused) return std::optional(examination.Annotated(std::move(*refused), c, drawn.regimes));
    return Compare(examination, probe, c);
  }

  static Result<std::optional<Rejected>> Compare(Examination& examination, Probe& probe, const Case& c) {
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
    for (int64_t first = 0; first < count && !refused; first += at_once) {
      std::vector<int64_t> slices;
      for (int64_t s = first; s < std::min(first + at_once, count); ++s) slices.push_back(s);
      ASSAY_TRY(refused, examination.CompareSlices(probe, c, 0, slices, 0));
    }
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
