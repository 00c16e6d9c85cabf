// SPDX-License-Identifier: Apache-2.0
// The checks that run hidden inputs and compare: they differ in what they draw, not in how they look.
#include <algorithm>
#include <utility>

#include "contract/shape.h"
#include "verify/check.h"

namespace assay {
namespace {

class CaseCheck : public Check {
 public:
  Result<std::optional<Rejected>> Run(Examination& examination) override {
    for (const Case& c : Draw(examination)) {
      ASSAY_TRY(std::optional<Rejected> refused, examination.Run(c));
      if (refused) return refused;
    }
    return std::optional<Rejected>();
  }

 protected:
  virtual std::vector<Case> Draw(const Examination& examination) const = 0;

  Case Make(const Examination& examination, Shape shape, std::vector<Values> calls, uint64_t ordinal) const {
    Case c;
    c.shape = std::move(shape);
    c.calls = std::move(calls);
    c.seed = examination.CaseSeed(name(), ordinal);
    Stream stream(c.seed.Derive("placement"));
    c.placement = stream.Next();
    return c;
  }
};

// Everything as small as it may be: most broken kernels end here.
class SmokeCheck : public CaseCheck {
 public:
  std::string_view name() const override { return "smoke"; }

 protected:
  std::vector<Case> Draw(const Examination& examination) const override {
    Stream stream = examination.Draws(name());
    const auto shapes = DrawShapes(examination.contract(), 1, {.flops = 2e5, .bytes = 1 << 18}, stream);
    return {Make(examination, shapes.front(), {Values::kFirst}, 0)};
  }
};

class GlanceCheck : public CaseCheck {
 public:
  std::string_view name() const override { return "hidden shapes, at a glance"; }

 protected:
  std::vector<Case> Draw(const Examination& examination) const override {
    Stream stream = examination.Draws(name());
    std::vector<Case> cases;
    for (Shape& shape : DrawShapes(examination.contract(), 4, {.flops = 4e6, .bytes = 1 << 22}, stream)) {
      cases.push_back(Make(examination, std::move(shape), {Values::kFirst, Values::kMixed}, cases.size()));
    }
    return cases;
  }
};

class TimedGlanceCheck : public CaseCheck {
 public:
  std::string_view name() const override { return "one call at the timed shape"; }

 protected:
  std::vector<Case> Draw(const Examination& examination) const override {
    if (examination.subject().timed.empty()) return {};
    return {Make(examination, examination.subject().timed.front(), {Values::kMixed}, 0)};
  }
};

class ShapesCheck : public CaseCheck {
 public:
  std::string_view name() const override { return "hidden shapes"; }

 protected:
  std::vector<Case> Draw(const Examination& examination) const override {
    Stream stream = examination.Draws(name());
    std::vector<Case> cases;
    const Contract& contract = examination.contract();
    std::vector<Shape> shapes = DrawShapes(contract, kShapes, {.flops = 6e6, .bytes = 4 << 20}, stream);
    // One large one: the last of a draw uses most of its limits.
    shapes.push_back(DrawShapes(contract, 2, LimitsOf(contract), stream).back());
    for (Shape& shape : shapes) cases.push_back(Make(examination, std::move(shape), {Values::kMixed}, cases.size()));
    return cases;
  }

 private:
  static constexpr int kShapes = 9;
};

class RegimesCheck : public CaseCheck {
 public:
  std::string_view name() const override { return "value regimes"; }

 protected:
  std::vector<Case> Draw(const Examination& examination) const override {
    Stream stream = examination.Draws(name());
    const Contract& contract = examination.contract();
    std::vector<Case> cases;
    // Enough slices of one regime each for the precision rules, and little work a slice.
    for (Shape& shape : DrawShapes(contract, 3, {.flops = 4e6, .bytes = 1 << 22}, stream)) {
      std::vector<Values> calls{Values::kMixed, Values::kPure, Values::kFirst, Values::kPure};
      if (HasOneHot(contract)) calls.push_back(Values::kOneHot);
      cases.push_back(Make(examination, std::move(shape), std::move(calls), cases.size()));
    }
    return cases;
  }
};

}  // namespace

std::unique_ptr<Check> MakeSmokeCheck() { return std::make_unique<SmokeCheck>(); }
std::unique_ptr<Check> MakeGlanceCheck() { return std::make_unique<GlanceCheck>(); }
std::unique_ptr<Check> MakeTimedGlanceCheck() { return std::make_unique<TimedGlanceCheck>(); }
std::unique_ptr<Check> MakeShapesCheck() { return std::make_unique<ShapesCheck>(); }
std::unique_ptr<Check> MakeRegimesCheck() { return std::make_unique<RegimesCheck>(); }

}  // namespace assay
