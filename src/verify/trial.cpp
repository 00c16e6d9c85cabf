// SPDX-License-Identifier: Apache-2.0
#include "verify/trial.h"

#include <algorithm>
#include <utility>

#include "contract/given.h"
#include "contract/values.h"

namespace assay {
namespace {

// The inputs of the situation with these outputs.
TimedCall WithOutputs(const Situation& situation, const Outputs& outputs) {
  TimedCall call = situation.call;
  for (size_t t = 0; t < outputs.size(); ++t) {
    if (!outputs[t].empty()) SetOutput(call, t, outputs[t]);
  }
  return call;
}

}  // namespace

Trials::Trials(const Contract& contract, Reference& reference)
    : contract_(contract), reference_(reference), depends_(DependsOnCandidate(contract)) {}

Result<Judgement> Trials::OfOutputs(const Situation& situation,
                                    const std::vector<std::span<const std::byte>>& tensors) {
  if (!depends_) return Judge(contract_, situation.answers, tensors);
  TimedCall call = situation.call;
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (contract_.tensors[t].role != Role::kIn) SetOutput(call, t, tensors[t]);
  }
  const std::vector<int64_t>& slices = situation.answers.parts.front().slices;
  ASSAY_TRY(Answers answers, reference_.Ask(call, slices, slices.size()));
  answers.texture = situation.answers.texture;
  return Judge(contract_, answers, call.tensors);
}

Result<Judgement> Trials::OfNumbers(const Situation& situation, const std::vector<double>& numbers) {
  if (!depends_) return JudgeNumbers(contract_, situation.answers, numbers);
  Outputs outputs = situation.outputs;
  for (size_t e = 0; e < numbers.size(); ++e) {
    const AnswerElement& element = situation.answers.elements[e];
    const Tensor& tensor = contract_.tensors[element.tensor];
    StoreElement(tensor.dtype, outputs[element.tensor], element.offset,
                 StoredAs(RuleOf(contract_, tensor), numbers[e]));
  }
  return OfOutputs(situation, WithOutputs(situation, outputs).tensors);
}

Result<Trials::Tried> Trials::OfVariant(const Situation& situation, const Variant& variant, const NumbersFault& fault) {
  Tried tried;
  const std::vector<AnswerElement>& elements = situation.answers.elements;
  if (depends_) {
    ASSAY_TRY(const Outputs outputs, reference_.Produce(situation.call, variant, fault));
    for (const AnswerElement& element : elements) {
      tried.stored.push_back(
          LoadElement(contract_.tensors[element.tensor].dtype, outputs[element.tensor], element.offset));
    }
    ASSAY_TRY(tried.judgement, OfOutputs(situation, WithOutputs(situation, outputs).tensors));
    return tried;
  }
  ASSAY_TRY(std::vector<double> numbers, reference_.Numbers(situation.call, situation.answers, variant));
  if (fault) fault(situation.answers, numbers);
  tried.judgement = JudgeNumbers(contract_, situation.answers, numbers);
  for (size_t e = 0; e < numbers.size(); ++e)
    tried.stored.push_back(StoredAs(RuleOf(contract_, contract_.tensors[elements[e].tensor]), numbers[e]));
  return tried;
}

Result<bool> Trials::AnswersMove(const Situation& situation, const TimedCall& call, size_t output) {
  ASSAY_TRY(const Answers moved, reference_.Ask(call, situation.answers.parts.front().slices, 0));
  // Where answers follow what was returned, the old outputs are judged by the new inputs.
  if (depends_) return Judge(contract_, moved, call.tensors).finding.has_value();
  const OutputRule rule = RuleOf(contract_, contract_.tensors[output]);
  for (size_t e = 0; e < std::min(moved.elements.size(), situation.answers.elements.size()); ++e) {
    if (situation.answers.elements[e].tensor != output) continue;
    const double value = StoredAs(rule, moved.elements[e].expected.value);
    if (JudgeElement(rule, situation.answers.elements[e].expected, value).result == ElementResult::kWrong) return true;
  }
  return false;
}

}  // namespace assay
