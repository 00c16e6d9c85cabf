// SPDX-License-Identifier: Apache-2.0
#include "verify/mutants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "contract/shape.h"
#include "contract/values.h"
#include "verify/requantise.h"

namespace assay {
namespace {

Variant Make(std::string name, MutantKind kind) {
  Variant variant;
  variant.name = std::move(name);
  variant.order = Order::kLanes16;
  variant.fma = true;
  variant.mutant.kind = kind;
  return variant;
}

void AddForOperand(const Contract& contract, size_t t, std::vector<Variant>& variants) {
  const Tensor& tensor = contract.tensors[t];
  Variant shift = Make("shift " + tensor.name, MutantKind::kShift);
  shift.mutant.tensor = static_cast<int>(t);
  variants.push_back(shift);
  if (tensor.dtype != DType::kF32 && tensor.dtype != DType::kF64) return;
  Variant bf16 = Make("narrow bf16 " + tensor.name, MutantKind::kNarrowOperand);
  bf16.mutant.tensor = static_cast<int>(t);
  bf16.mutant.format = DType::kBf16;
  variants.push_back(bf16);
  Variant tf32 = bf16;
  tf32.name = "narrow tf32 " + tensor.name;
  tf32.mutant.format = DType::kTf32;
  variants.push_back(tf32);
}

// The input's element at the output's offset, where there is one.
std::vector<double> CopyOf(const Contract& contract, size_t input, const TimedCall& call, const Answers& answers) {
  const Tensor& tensor = contract.tensors[input];
  const auto layout = LayoutOf(contract, tensor, *call.shape);
  std::vector<double> numbers(answers.elements.size(), 0.0);
  if (!layout.ok() || layout.value().element_count == 0 || call.Read(input).empty()) return numbers;
  for (size_t e = 0; e < numbers.size(); ++e) {
    const AnswerElement& answer = answers.elements[e];
    if (answer.tensor == input) {  // changed in place: as it was
      numbers[e] = LoadElement(tensor.dtype, call.Read(input), answer.offset);
      continue;
    }
    const int64_t element = answer.offset % layout.value().element_count;
    numbers[e] = LoadElement(tensor.dtype, call.Read(input), ElementOffset(layout.value(), element));
  }
  return numbers;
}

std::vector<double> ValuesOf(const Answers& answers) {
  std::vector<double> values;
  for (const AnswerElement& element : answers.elements) values.push_back(element.expected.value);
  return values;
}

std::vector<double> ConstantOf(const Answers& answers) {
  double sum = 0;
  int64_t count = 0;
  for (const AnswerElement& element : answers.elements) {
    if (!std::isfinite(element.expected.value)) continue;
    sum += element.expected.value;
    ++count;
  }
  return std::vector<double>(answers.elements.size(), count > 0 ? sum / static_cast<double>(count) : 0.0);
}

std::vector<double> RotatedBySlice(const Answers& answers) {
  const std::vector<double> values = ValuesOf(answers);
  std::vector<double> numbers(values.size());
  if (answers.slices.size() < 2) return std::vector<double>(values.size(), 0.0);
  const size_t shift = answers.begin[1] - answers.begin[0];
  for (size_t e = 0; e < values.size(); ++e) numbers[e] = values[(e + shift) % values.size()];
  return numbers;
}

std::vector<double> HalfDone(const Answers& answers) {
  std::vector<double> values = ValuesOf(answers);
  // What was never written is poison.
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end(),
            std::numeric_limits<double>::quiet_NaN());
  return values;
}

// Codes of a value that is rounded by another rule than the declared one, and codes that wrap around
// where they should stay at the end of the range.
void AddForCodes(const Contract& contract, size_t t, std::vector<ClassFault>& faults) {
  const Tensor& tensor = contract.tensors[t];
  const OutputRule declared = RuleOf(contract, tensor);
  static constexpr std::pair<TieRule, const char*> kRules[] = {{TieRule::kHalfEven, "to even at ties"},
                                                               {TieRule::kHalfAway, "away from zero at ties"},
                                                               {TieRule::kHalfUp, "up at ties"},
                                                               {TieRule::kTowardZero, "toward zero"},
                                                               {TieRule::kDown, "down"}};
  for (const auto& [round, words] : kRules) {
    if (round == declared.round) continue;
    OutputRule other = declared;
    other.round = round;
    ClassFault fault;
    fault.name = tensor.name + " rounds " + words;
    fault.apply = [t, other](const Answers& answers, std::vector<double>& numbers) {
      for (size_t e = 0; e < numbers.size(); ++e) {
        if (answers.elements[e].tensor == t) numbers[e] = CodeOf(other, numbers[e]);
      }
    };
    // Codes that follow a computed scale meet no exact tie but by chance.
    if (tensor.compare->given.empty()) {
      fault.needs = "no unrounded value of " + tensor.name +
                    " lies exactly between two codes: add a regime in which some do (scales that are powers of two), "
                    "so that the rule for ties can be told";
    }
    faults.push_back(std::move(fault));
  }
  if (Info(tensor.dtype).is_float) return;
  const double lowest = LowestOf(tensor.dtype), values = HighestOf(tensor.dtype) - lowest + 1.0;
  faults.push_back({tensor.name + " wraps around",
                    [t, lowest, values](const Answers& answers, std::vector<double>& numbers) {
                      for (size_t e = 0; e < numbers.size(); ++e) {
                        if (answers.elements[e].tensor != t || !std::isfinite(numbers[e])) continue;
                        const double whole = std::nearbyint(numbers[e]) - lowest;
                        numbers[e] = lowest + whole - values * std::floor(whole / values);
                      }
                    },
                    ""});
}

}  // namespace

std::vector<ClassFault> ClassFaults(const Contract& contract) {
  std::vector<ClassFault> faults;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const auto& compare = contract.tensors[t].compare;
    if (compare && compare->kind == CompareClass::kRequantise) AddForCodes(contract, t, faults);
  }
  return faults;
}

std::vector<Variant> MutantVariants(const Contract& contract) {
  std::vector<Variant> variants;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    if (contract.tensors[t].role != Role::kOut) AddForOperand(contract, t, variants);
  }
  const std::pair<const char*, MutantKind> everywhere[] = {
      {"narrow bf16 accumulator", MutantKind::kNarrowAccumulator},
      {"narrow bf16 functions", MutantKind::kNarrowElementary},
      {"narrow bf16 output", MutantKind::kNarrowOutput},
      {"last term dropped", MutantKind::kDropLast},
      {"first term dropped", MutantKind::kDropHead},
      {"a block of terms dropped", MutantKind::kDropBlock},
      {"the tail of terms dropped", MutantKind::kDropTail},
  };
  for (const auto& [name, kind] : everywhere) {
    Variant variant = Make(name, kind);
    variant.mutant.format = DType::kBf16;
    variants.push_back(std::move(variant));
  }
  Variant rough = Make("functions good to 14 bits", MutantKind::kRoughElementary);
  rough.mutant.amount = 0x1p-14;
  variants.push_back(rough);
  Variant biased = Make("output biased by 2^-12", MutantKind::kBiasOutput);
  biased.mutant.amount = 0x1p-12;
  variants.push_back(biased);
  return variants;
}

std::vector<Variant> AdmissionHonestVariants() {
  return {
      {"honest in order, fused, base two", Order::kInOrder, true, Elementary::kExp2, {}},
      {"honest pairwise, loose functions", Order::kPairwise, false, Elementary::kLoose, {}},
      {"honest sixteen lanes, base two", Order::kLanes16, false, Elementary::kExp2, {}},
      {"honest blocks of 64, fused", Order::kBlocks64, true, Elementary::kCorrect, {}},
  };
}

std::vector<Null> Nulls(const Contract& contract) {
  std::vector<Null> nulls{
      {"null zeros", [](const auto&, const Answers& answers,
                        const auto&) { return std::vector<double>(answers.elements.size(), 0.0); }},
      {"null constant", [](const auto&, const Answers& answers, const auto&) { return ConstantOf(answers); }},
      {"null stale", [](const auto&, const auto&, const Answers& others) { return ValuesOf(others); }},
      {"null rotated by a slice",
       [](const auto&, const Answers& answers, const auto&) { return RotatedBySlice(answers); }},
      {"null half done", [](const auto&, const Answers& answers, const auto&) { return HalfDone(answers); }},
  };
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    if (contract.tensors[t].role == Role::kOut) continue;
    nulls.push_back({"null copy of " + contract.tensors[t].name,
                     [&contract, t](const TimedCall& call, const Answers& answers, const auto&) {
                       return CopyOf(contract, t, call, answers);
                     }});
  }
  return nulls;
}

}  // namespace assay
