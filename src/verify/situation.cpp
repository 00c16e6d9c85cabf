// SPDX-License-Identifier: Apache-2.0
#include "verify/situation.h"

#include <algorithm>
#include <utility>

#include "contract/given.h"
#include "contract/values.h"
#include "language/inputs_program.h"
#include "verify/draw.h"
#include "verify/examination.h"

namespace assay {
namespace {

constexpr ShapeLimits kLimits{.flops = 2e6, .bytes = 1 << 21};
constexpr int64_t kMostSlices = 64;
// Where answers are computed from outputs, each variant computes all of them, and every answer is asked anew;
// where rows of keys are published, every evaluation hands all of them over.
constexpr ShapeLimits kSmallLimits{.flops = 1e5, .bytes = 1 << 18};
constexpr double kElements = 20'000;
constexpr size_t kShapes = 2;

size_t RegimeCount(const Contract& contract) {
  size_t most = 1;
  for (const Tensor& tensor : contract.tensors) most = std::max(most, tensor.values.size());
  return most;
}

bool IsDear(const Contract& contract) {
  return DependsOnCandidate(contract) || HasOutputOf(CompareClass::kIndex, contract);
}

// The largest shapes of a draw: small ones have too few terms for a dropped one to matter.
std::vector<Shape> DrawnShapes(const Contract& contract, Stream& stream) {
  std::vector<Shape> shapes = DrawShapes(contract, 10, IsDear(contract) ? kSmallLimits : kLimits, stream);
  const auto work = [&](const Shape& shape) {
    const auto operations = Operations(contract, shape);
    return operations.ok() ? operations.value() : 0.0;
  };
  std::stable_sort(shapes.begin(), shapes.end(), [&](const Shape& a, const Shape& b) { return work(a) > work(b); });
  // An absent output could not be judged: prefer calls with everything in them.
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const Shape& a, const Shape& b) { return a.absent_tensors.size() < b.absent_tensors.size(); });
  if (shapes.size() > kShapes) shapes.resize(kShapes);
  return shapes;
}

// Tensor t gets its regime number `regime`, counted round and round: ties that a second tensor would
// break meet its constants too.
Status FillRegime(const Contract& contract, const Shape& shape, size_t regime, const Seed& seed, Situation& situation,
                  DrawnCall& drawn) {
  Stream scalars(seed.Derive("scalars"));
  drawn.scalars = DrawScalars(contract, shape, scalars, regime == 0);
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (situation.bytes[t].empty()) continue;
    if (tensor.from_program()) {
      drawn.structured = drawn.structured || Info(tensor.dtype).is_float;
      continue;
    }
    const Generator& generator = tensor.values[regime % tensor.values.size()];
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
    Stream stream(seed.Derive("tensor", t));
    FillTensor(tensor, layout, generator, shape, situation.bytes[t], stream);
    drawn.structured = drawn.structured || Structured(generator);
    drawn.regimes += (drawn.regimes.empty() ? "" : ", ") + tensor.name + ": " + generator.text;
  }
  return FillFromProgram(
      contract, shape, drawn.scalars, [&](size_t t) { return std::span(situation.bytes[t]); }, seed);
}

Result<Situation> Draw(const Contract& contract, const Shape& shape, size_t regime, const Seed& seed) {
  Situation situation;
  situation.shape = std::make_unique<Shape>(shape);
  situation.bytes.resize(contract.tensors.size());
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (tensor.role == Role::kOut || shape.absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
    situation.bytes[t].resize(static_cast<size_t>(layout.byte_span));
  }
  DrawnCall drawn;
  if (regime >= kMixedRegime) {
    const Values values = regime == kMixedRegime ? Values::kMixed : Values::kOneHot;
    ASSAY_TRY(drawn, DrawCall(contract, shape, values, seed, [&](size_t t) { return std::span(situation.bytes[t]); }));
  } else {
    ASSAY_TRY_STATUS(FillRegime(contract, shape, regime, seed, situation, drawn));
  }
  situation.regime = drawn.regimes;
  situation.first = regime == 0;
  situation.call.contract = &contract;
  situation.call.shape = situation.shape.get();
  situation.call.scalars = drawn.scalars;
  situation.call.structured = drawn.structured;
  for (const auto& bytes : situation.bytes) situation.call.tensors.emplace_back(bytes);
  return situation;
}

Status AddOutputs(const Contract& contract, Reference& reference, Situation& situation) {
  if (!DependsOnCandidate(contract)) return Ok();
  ASSAY_TRY(situation.outputs, reference.Produce(situation.call, HonestVariants()[0], {}));
  for (size_t t = 0; t < situation.outputs.size(); ++t) {
    if (!situation.outputs[t].empty()) SetOutput(situation.call, t, situation.outputs[t]);
  }
  return Ok();
}

// Answers of class solve are residuals; what solves is what the honest kernel left.
void NameSolutions(const Contract& contract, Situation& situation) {
  for (AnswerElement& element : situation.answers.elements) {
    const Tensor& tensor = contract.tensors[element.tensor];
    if (tensor.compare->kind != CompareClass::kSolve) continue;
    element.expected.value = LoadElement(tensor.dtype, situation.outputs[element.tensor], element.offset);
  }
}

}  // namespace

Result<std::vector<std::byte>> Situation::Redrawn(const Contract& contract, size_t tensor, const Seed& seed) const {
  std::vector<std::byte> fresh(bytes[tensor].size());
  if (fresh.empty()) return fresh;
  if (contract.tensors[tensor].from_program()) {
    // All that the program fills at once: it answers for one call, not for one tensor.
    std::vector<std::vector<std::byte>> all = bytes;
    std::vector<double> scalars = call.scalars;
    ASSAY_TRY_STATUS(FillFromProgram(
        contract, *shape, scalars, [&](size_t t) { return std::span(all[t]); }, seed));
    return all[tensor];
  }
  ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, contract.tensors[tensor], *shape));
  Stream stream(seed);
  FillTensor(contract.tensors[tensor], layout, contract.tensors[tensor].values.front(), *shape, fresh, stream);
  return fresh;
}

Result<std::vector<Situation>> DrawSituations(const Contract& contract, Reference& reference, const Seed& seed) {
  std::vector<size_t> regimes;
  for (size_t r = 0; r < RegimeCount(contract); ++r) regimes.push_back(r);
  regimes.push_back(kMixedRegime);
  if (HasOneHot(contract)) regimes.push_back(kOneHotRegime);
  Stream stream(seed.Derive("shapes"));
  std::vector<Situation> situations;
  for (const Shape& shape : DrawnShapes(contract, stream)) {
    const std::vector<int64_t> slices =
        DrawSlices(SliceCount(contract, shape),
                   std::min(kMostSlices, SlicesOf(contract, shape, kLimits.flops, kElements)), stream);
    for (const size_t regime : regimes) {
      const Seed own = seed.Derive("situation", situations.size());
      ASSAY_TRY(Situation situation, Draw(contract, shape, regime, own));
      ASSAY_TRY_STATUS(AddOutputs(contract, reference, situation));
      ASSAY_TRY(situation.answers, reference.Ask(situation.call, slices, slices.size()));
      NameSolutions(contract, situation);
      situation.answers.texture =
          TextureOf(regime == kMixedRegime ? Values::kMixed : Values::kPure, situation.call.structured);
      ASSAY_TRY(Situation other, Draw(contract, shape, regime, own.Derive("another")));
      ASSAY_TRY_STATUS(AddOutputs(contract, reference, other));
      ASSAY_TRY(other.answers, reference.Ask(other.call, slices, 0));
      NameSolutions(contract, other);
      situation.others = std::move(other.answers);
      situations.push_back(std::move(situation));
    }
  }
  return situations;
}

}  // namespace assay
