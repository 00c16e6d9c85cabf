// SPDX-License-Identifier: Apache-2.0
#include "verify/mutants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "contract/shape.h"
#include "contract/values.h"
#include "verify/requantise.h"

namespace assay {
namespace {

Variant Make(std::string name, MutantKind kind, DType format = DType::kBf16) {
  Variant variant;
  variant.name = std::move(name);
  variant.order = Order::kLanes16;
  variant.fma = true;
  variant.mutant.kind = kind;
  variant.mutant.format = format;
  return variant;
}

// What is narrower than the sharpest output shows; what is as precise as it, or nearly, drowns in the
// output's own rounding, and no comparison could tell it from an honest kernel.
struct Sharpness {
  int precision = 0;                                      // significant bits of the most precise floating output
  int arithmetic = 0;                                     // of the arithmetic behind it
  bool whole() const { return precision >= arithmetic; }  // the output keeps all that was computed
};

Sharpness SharpnessOf(const Contract& contract) {
  Sharpness sharpest;
  for (const Tensor& tensor : contract.tensors) {
    if (!tensor.compare || !IsFloating(tensor.dtype)) continue;
    const int arithmetic = Traits(tensor.compare->in).precision;
    const int precision = std::min(Traits(tensor.dtype).precision, arithmetic);
    if (precision > sharpest.precision) sharpest = {precision, arithmetic};
  }
  // Codes and indices show of the numbers behind them about what half of an f32 would.
  return sharpest.precision > 0 ? sharpest : Sharpness{12, 24};
}

// What somebody in a hurry would compute in instead: the formats that hardware multiplies in.
std::vector<DType> NarrowerThan(DType format) {
  switch (format) {
    case DType::kF64:
      return {DType::kF32, DType::kTf32, DType::kBf16};
    case DType::kF32:
      return {DType::kTf32, DType::kF16, DType::kBf16};
    case DType::kTf32:
    case DType::kF16:
      return {DType::kBf16, DType::kE4m3};
    case DType::kBf16:
      return {DType::kE4m3, DType::kE5m2};
    case DType::kE4m3:
    case DType::kE5m2:
      return {DType::kE2m1};
    default:
      return {};
  }
}

// The widest of three that an output of so many bits still shows.
DType CoarserThan(int precision) {
  for (const DType format : {DType::kBf16, DType::kE4m3, DType::kE2m1}) {
    if (Traits(format).precision < precision) return format;
  }
  return DType::kE2m1;
}

std::string NarrowName(DType format) { return "narrow " + std::string(DTypeName(format)) + " "; }

void AddForOperand(const Contract& contract, size_t t, const Sharpness& sharp, std::vector<Variant>& variants) {
  const Tensor& tensor = contract.tensors[t];
  const auto add = [&](Variant variant) {
    variant.mutant.tensor = static_cast<int>(t);
    variants.push_back(std::move(variant));
  };
  add(Make("shift " + tensor.name, MutantKind::kShift));
  for (const DType format : NarrowerThan(tensor.dtype)) {
    if (Traits(format).precision >= sharp.precision) continue;
    add(Make(NarrowName(format) + tensor.name, MutantKind::kNarrowOperand, format));
  }
  // Two bf16 hold 16 bits: the usual way to squeeze an f32 product through narrow units.
  if (tensor.dtype == DType::kF32 && 2 * Traits(DType::kBf16).precision < sharp.precision)
    add(Make("two bf16 for " + tensor.name, MutantKind::kNarrowOperandPair));
}

void AddForArithmetic(const Contract& contract, const Sharpness& sharp, std::vector<Variant>& variants) {
  std::set<DType> accumulators;
  for (const Tensor& tensor : contract.tensors) {
    if (!tensor.compare) continue;
    for (const DType format : NarrowerThan(tensor.compare->in)) {
      // Sums in tf32 are what no hardware does, and f16 is as precise.
      if (format != DType::kTf32) accumulators.insert(format);
    }
  }
  for (const DType format : accumulators)
    variants.push_back(Make(NarrowName(format) + "accumulator", MutantKind::kNarrowAccumulator, format));
  const DType coarse = CoarserThan(sharp.precision);
  variants.push_back(Make(NarrowName(coarse) + "functions", MutantKind::kNarrowElementary, coarse));
  variants.push_back(Make(NarrowName(coarse) + "output", MutantKind::kNarrowOutput, coarse));
  // 128 roundings of the arithmetic, 2^-17 in f32, where the output shows them; else a few of its own.
  const int good = sharp.whole() ? sharp.precision - 7 : sharp.precision - 4;
  Variant rough = Make("functions good to " + std::to_string(good) + " bits", MutantKind::kRoughElementary);
  rough.mutant.amount = PowerOfTwo(-good);
  variants.push_back(std::move(rough));
  Variant biased = Make("output biased by 2^-" + std::to_string(std::min(12, good)), MutantKind::kBiasOutput);
  biased.mutant.amount = PowerOfTwo(-std::min(12, good));
  variants.push_back(std::move(biased));
  if (!sharp.whole()) return;
  // In order, where every step leans the same way: in sixteen lanes truncation is no worse than an
  // honest sum in order, and nobody could call it wrong.
  Variant truncated = Make("truncation instead of rounding", MutantKind::kTruncate);
  truncated.order = Order::kInOrder;
  variants.push_back(std::move(truncated));
  variants.push_back(Make("one-pass variance", MutantKind::kOnePassMoments));
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
    const bool of_ties = round != TieRule::kTowardZero && round != TieRule::kDown;
    fault.apply = [t, other, of_ties](const Answers& answers, std::vector<double>& numbers) {
      for (size_t e = 0; e < numbers.size(); ++e) {
        // Between two codes by rounding errors, not by the inputs: either code is right.
        const ExpectedElement& expected = answers.elements[e].expected;
        if (of_ties && !(expected.exact || expected.bound == 0)) continue;
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

// Rows of indices that another policy or a careless selection would give.
void AddForIndices(const Contract& contract, size_t t, std::vector<ClassFault>& faults) {
  const Tensor& tensor = contract.tensors[t];
  const RankRule declared = RankRuleOf(*tensor.compare);
  const auto ranked = [t](const RankRule& rule) {
    return [t, rule](const Answers& answers, std::vector<double>& numbers) {
      for (const RankedRow& row : answers.rows) {
        if (row.tensor != t) continue;
        const std::vector<double> indices = RankedIndices(rule, row.keys, row.count);
        std::copy(indices.begin(), indices.end(), numbers.begin() + static_cast<std::ptrdiff_t>(row.first));
      }
    };
  };
  RankRule upside_down = declared;
  upside_down.descending = !declared.descending;
  faults.push_back({tensor.name + " takes the worst keys", ranked(upside_down), ""});
  if (declared.tie != TiePolicy::kAny) {
    RankRule other = declared;
    other.tie = declared.tie == TiePolicy::kLowest ? TiePolicy::kHighest : TiePolicy::kLowest;
    faults.push_back({tensor.name + " takes the other one of equal keys", ranked(other),
                      "no two keys of " + tensor.name +
                          " are equal in any regime: add one with equal keys (ties, constant), so that the policy for "
                          "ties can be told, or write tie = \"any\""});
  }
  faults.push_back({tensor.name + " takes the next key in its last place",
                    [t, declared](const Answers& answers, std::vector<double>& numbers) {
                      for (const RankedRow& row : answers.rows) {
                        if (row.tensor != t || row.count == 0 || row.count >= row.keys.size()) continue;
                        numbers[row.first + row.count - 1] = RankedIndices(declared, row.keys, row.count + 1).back();
                      }
                    },
                    ""});
}

// In [0, 1), the same for the same number.
double Scattered(uint64_t i) {
  i = (i + 1) * 0x9E3779B97F4A7C15U;
  i = (i ^ (i >> 29)) * 0xBF58476D1CE4E5B9U;
  return static_cast<double>((i ^ (i >> 32)) >> 11) * 0x1p-53;
}

// Draws that are none: `keeps` decides by the element, its place in its slice, and its place of all.
void AddForDraws(const Contract& contract, size_t t, std::vector<ClassFault>& faults) {
  using Keeps = std::function<bool(const ExpectedElement& expected, uint64_t in_slice, uint64_t in_all, bool honest)>;
  const auto add = [&](const char* words, const Keeps& keeps) {
    faults.push_back({contract.tensors[t].name + words,
                      [t, keeps](const Answers& answers, std::vector<double>& numbers) {
                        uint64_t in_all = 0;
                        for (size_t s = 0; s + 1 < answers.begin.size(); ++s) {
                          for (size_t e = answers.begin[s]; e < answers.begin[s + 1]; ++e) {
                            if (answers.elements[e].tensor != t) continue;
                            const ExpectedElement& expected = answers.elements[e].expected;
                            const bool kept = numbers[e] != expected.other;
                            numbers[e] =
                                keeps(expected, e - answers.begin[s], in_all++, kept) ? expected.value : expected.other;
                          }
                        }
                      },
                      ""});
  };
  add(" is always kept", [](const auto&, uint64_t, uint64_t, bool) { return true; });
  add(" is never kept", [](const auto&, uint64_t, uint64_t, bool) { return false; });
  add(" is drawn with a bias", [](const ExpectedElement& expected, uint64_t, uint64_t in_all, bool kept) {
    return Scattered(in_all) < 0.125 ? expected.probability < 0.5 : kept;
  });
  add(" repeats every 64 elements", [](const ExpectedElement& expected, uint64_t, uint64_t in_all, bool) {
    return Scattered(in_all % 64) < expected.probability;
  });
  add(" is the same in each slice", [](const ExpectedElement& expected, uint64_t in_slice, uint64_t, bool) {
    return Scattered(in_slice) < expected.probability;
  });
  add(" is spread too evenly", [](const ExpectedElement& expected, uint64_t, uint64_t in_all, bool) {
    const double before = expected.probability * static_cast<double>(in_all);
    return std::floor(before + expected.probability) > std::floor(before);
  });
}

}  // namespace

std::vector<ClassFault> ClassFaults(const Contract& contract) {
  std::vector<ClassFault> faults;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (IsOf(CompareClass::kRequantise, tensor)) AddForCodes(contract, t, faults);
    if (IsOf(CompareClass::kIndex, tensor)) AddForIndices(contract, t, faults);
    if (IsOf(CompareClass::kStochastic, tensor)) AddForDraws(contract, t, faults);
  }
  return faults;
}

std::vector<Variant> MutantVariants(const Contract& contract) {
  const Sharpness sharp = SharpnessOf(contract);
  std::vector<Variant> variants;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    if (contract.tensors[t].role != Role::kOut) AddForOperand(contract, t, sharp, variants);
  }
  AddForArithmetic(contract, sharp, variants);
  const std::pair<const char*, MutantKind> dropped[] = {
      {"last term dropped", MutantKind::kDropLast},
      {"first term dropped", MutantKind::kDropHead},
      {"a block of terms dropped", MutantKind::kDropBlock},
      {"the tail of terms dropped", MutantKind::kDropTail},
  };
  for (const auto& [name, kind] : dropped) variants.push_back(Make(name, kind));
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
