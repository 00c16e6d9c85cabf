// SPDX-License-Identifier: Apache-2.0
#include "verify/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "contract/values.h"
#include "verify/requantise.h"
#include "verify/solve.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double RatioOf(const ElementVerdict& verdict) {
  if (verdict.result == ElementResult::kExcluded) return 0.0;
  if (verdict.result == ElementResult::kRight) return verdict.limit > 0.0 ? verdict.error / verdict.limit : 0.0;
  // Wrong is above its limit by definition, also where both are infinite or the limit is nothing.
  const double ratio = verdict.limit > 0.0 ? verdict.error / verdict.limit : kInfinity;
  return ratio > 1.0 ? ratio : kInfinity;
}

// The slices of one output, judged element by element and then together.
class OutputJudge {
 public:
  OutputJudge(const Contract& contract, size_t tensor, size_t orders)
      : tensor_(tensor), rule_(RuleOf(contract, contract.tensors[tensor])), orders_(orders) {}

  void Begin(int64_t slice) {
    tallies_.emplace_back(slice, orders_);
    if (rule_.kind == CompareClass::kRequantise) directions_.emplace_back(slice, orders_);
    if (rule_.kind == CompareClass::kSolve) residuals_.emplace_back(slice, orders_);
    if (rule_.kind == CompareClass::kStochastic) drawn_.push_back({slice, {}});
    largest_ = 0;
  }
  // Where terms cancel, a short chain has a bound far above its value: the slice's largest says what they were like.
  void Foresee(const AnswerElement& element) {
    const double size = std::abs(element.expected.value);
    if (std::isfinite(size)) largest_ = std::max(largest_, size);
  }

  void Add(const AnswerElement& element, double actual, std::span<const double> honest, Judgement& judgement) {
    const ElementVerdict verdict = JudgeOne(element, actual, honest);
    ++judgement.elements;
    if (verdict.result == ElementResult::kExcluded) ++judgement.excluded;
    const double ratio = RatioOf(verdict);
    judgement.worst = std::max(judgement.worst, ratio);
    const bool short_chain = element.expected.bound <= kShortChain * RoundoffOf(rule_.in) * largest_;
    if (!short_chain) judgement.worst_estimated = std::max(judgement.worst_estimated, ratio);
    if (verdict.result != ElementResult::kWrong || !(ratio > worst_element_)) return;
    worst_element_ = ratio;
    judgement.finding = Finding{tensor_,
                                element.offset,
                                tallies_.back().slice(),
                                actual,
                                element.expected.value,
                                verdict.error,
                                verdict.limit,
                                rule_.kind == CompareClass::kSolve ? "residual" : "element"};
  }

  void Finish(Texture texture, Judgement& judgement) {
    const PrecisionVerdict verdict = JudgeTogether(texture);
    if (rule_.kind == CompareClass::kStochastic) judgement.draws.emplace_back(tensor_, AllDraws());
    judgement.worst = std::max(judgement.worst, verdict.worst);
    if (verdict.ok || judgement.finding) return;
    judgement.finding = Finding{tensor_, -1, verdict.slice, 0, 0, verdict.measured, verdict.limit, verdict.rule};
  }

 private:
  ElementVerdict JudgeOne(const AnswerElement& element, double actual, std::span<const double> honest) {
    if (rule_.kind == CompareClass::kSolve) {
      residuals_.back().Add(element.expected, honest);
      return JudgeResidual(rule_, element.expected);
    }
    if (rule_.kind == CompareClass::kStochastic) {
      drawn_.back().Add(rule_, element.expected, element.offset, actual);
      return JudgeSupport(rule_, element.expected, actual);
    }
    if (rule_.kind == CompareClass::kRequantise) directions_.back().Add(rule_, element.expected, actual, honest);
    return tallies_.back().Add(rule_, element.expected, actual, honest);
  }

  std::vector<ChanceDraw> AllDraws() const {
    std::vector<ChanceDraw> draws;
    for (const DrawnSlice& slice : drawn_) draws.insert(draws.end(), slice.draws.begin(), slice.draws.end());
    std::ranges::sort(draws, {}, &ChanceDraw::offset);
    return draws;
  }

  // What no single element shows.
  PrecisionVerdict JudgeTogether(Texture texture) {
    PrecisionVerdict silent;
    silent.ok = true;
    switch (rule_.kind) {
      case CompareClass::kAccumulate:
        return JudgePrecision(JoinSmallSlices(std::move(tallies_)), texture);
      case CompareClass::kRequantise:
        return JudgeDirection(directions_, texture);
      case CompareClass::kSolve:
        return JudgeBackwardErrors(rule_, residuals_);
      case CompareClass::kStochastic:
        // By their place: what repeats does so from one slice to the next.
        std::ranges::sort(drawn_, {}, &DrawnSlice::slice);
        return JudgeDraws(drawn_);
      default:
        return silent;
    }
  }

  size_t tensor_;
  OutputRule rule_;
  size_t orders_;
  std::vector<SliceTally> tallies_;
  std::vector<DirectionTally> directions_;  // class requantise
  std::vector<ResidualTally> residuals_;    // class solve
  std::vector<DrawnSlice> drawn_;           // class stochastic
  double worst_element_ = 0;
  double largest_ = 0;  // of the slice under way
};

bool IsRanked(const Contract& contract, const AnswerElement& element) {
  return IsOf(CompareClass::kIndex, contract.tensors[element.tensor]);
}

void JudgeRow(const Contract& contract, const Answers& answers, const RankedRow& row,
              const std::function<double(size_t)>& actual, Judgement& judgement) {
  const Compare& compare = *contract.tensors[row.tensor].compare;
  std::vector<double> indices;
  for (size_t p = 0; p < row.count; ++p) indices.push_back(actual(row.first + p));
  const RankVerdict verdict = JudgeRanking(RankRuleOf(compare), row.keys, indices);
  judgement.elements += static_cast<int64_t>(row.count);
  if (verdict.result == ElementResult::kExcluded) {
    judgement.excluded += static_cast<int64_t>(row.count);
    return;
  }
  double largest = 0;
  for (const Key& key : row.keys) largest = std::isfinite(key.value) ? std::max(largest, std::abs(key.value)) : largest;
  const bool short_chain = verdict.limit <= 2.0 * kShortChain * RoundoffOf(compare.in) * largest;
  if (!short_chain) judgement.worst_estimated = std::max(judgement.worst_estimated, verdict.ratio);
  const bool worst = verdict.ratio > judgement.worst;
  judgement.worst = std::max(judgement.worst, verdict.ratio);
  if (verdict.result != ElementResult::kWrong || (judgement.finding && !worst)) return;
  judgement.finding = Finding{row.tensor,
                              answers.elements[row.first + verdict.position].offset,
                              answers.slices[row.slice],
                              indices[verdict.position],
                              verdict.better,
                              verdict.error,
                              verdict.limit,
                              verdict.rule};
}

Judgement JudgeWith(const Contract& contract, const Answers& answers, const std::function<double(size_t)>& actual) {
  Judgement judgement;
  if (answers.unusable) {
    judgement.worst = judgement.worst_estimated = kInfinity;
    judgement.finding = answers.unusable;
    return judgement;
  }
  std::vector<std::optional<OutputJudge>> judges(contract.tensors.size());
  for (const AnswerElement& element : answers.elements) {
    auto& judge = judges[element.tensor];
    if (!judge && !IsRanked(contract, element)) judge.emplace(contract, element.tensor, answers.orders);
  }
  for (size_t s = 0; s < answers.slices.size(); ++s) {
    for (auto& judge : judges) {
      if (judge) judge->Begin(answers.slices[s]);
    }
    for (size_t e = answers.begin[s]; e < answers.begin[s + 1]; ++e) {
      if (!IsRanked(contract, answers.elements[e])) judges[answers.elements[e].tensor]->Foresee(answers.elements[e]);
    }
    for (size_t e = answers.begin[s]; e < answers.begin[s + 1]; ++e) {
      const AnswerElement& element = answers.elements[e];
      if (!IsRanked(contract, element)) judges[element.tensor]->Add(element, actual(e), answers.HonestOf(e), judgement);
    }
  }
  for (const RankedRow& row : answers.rows) JudgeRow(contract, answers, row, actual, judgement);
  for (auto& judge : judges) {
    if (judge) judge->Finish(answers.texture, judgement);
  }
  return judgement;
}

// The index of the element that lies at this offset; padding makes some offsets nobody's.
std::string IndexText(const TensorLayout& layout, int64_t offset) {
  std::string text;
  int64_t rest = offset;
  for (size_t d = 0; d < layout.strides.size(); ++d) {
    const int64_t stride = std::max<int64_t>(layout.strides[d], 1);
    text += (d == 0 ? "" : ",") + std::to_string(rest / stride);
    rest %= stride;
  }
  return text;
}

}  // namespace

Judgement Judge(const Contract& contract, const Answers& answers, std::span<const std::span<const std::byte>> outputs) {
  return JudgeWith(contract, answers, [&](size_t e) {
    const AnswerElement& element = answers.elements[e];
    return LoadElement(contract.tensors[element.tensor].dtype, outputs[element.tensor], element.offset);
  });
}

std::vector<uint64_t> PrintsOf(const Contract& contract, const Answers& answers) {
  std::vector<uint64_t> prints;
  for (size_t s = 0; s < answers.parts.front().slices.size(); ++s) {
    uint64_t print = 0;
    for (size_t e = answers.begin[s]; e < answers.begin[s + 1]; ++e) {
      const AnswerElement& element = answers.elements[e];
      const double value = RoundedTo(contract.tensors[element.tensor].dtype, element.expected.value);
      print = ((print ^ std::bit_cast<uint64_t>(value)) + element.tensor + 1) * 0x9E3779B97F4A7C15;
      print ^= print >> 29;
    }
    prints.push_back(print);
  }
  return prints;
}

std::vector<int64_t> SharedAnswers(std::span<const int64_t> slices, std::span<const uint64_t> prints) {
  ASSAY_CHECK(slices.size() == prints.size());
  std::unordered_map<uint64_t, int> seen;
  for (const uint64_t print : prints) ++seen[print];
  std::vector<int64_t> shared;
  for (size_t s = 0; s < slices.size(); ++s) {
    if (seen[prints[s]] > 1) shared.push_back(slices[s]);
  }
  return shared;
}

Judgement JudgeNumbers(const Contract& contract, const Answers& answers, std::span<const double> numbers) {
  ASSAY_CHECK(numbers.size() == answers.elements.size());
  return JudgeWith(contract, answers, [&](size_t e) {
    return StoredAs(RuleOf(contract, contract.tensors[answers.elements[e].tensor]), numbers[e]);
  });
}

std::string Describe(const Contract& contract, const Shape& shape, const Finding& finding) {
  const Tensor& tensor = contract.tensors[finding.tensor];
  if (finding.offset < 0) {
    return fmt::format("{} (slice {}): {} is {:.3g}, limit {:.3g}", tensor.name, finding.slice, finding.rule,
                       finding.error, finding.limit);
  }
  const auto layout = LayoutOf(contract, tensor, shape);
  const std::string index = layout.ok() ? IndexText(layout.value(), finding.offset) : std::to_string(finding.offset);
  if (finding.rule == "residual") {
    return fmt::format("{}[{}]: got {:.9g}, which leaves a residual of {:.3g}, limit {:.3g}", tensor.name, index,
                       finding.got, finding.error, finding.limit);
  }
  const std::string rule = finding.rule == "element" ? "" : finding.rule + ": ";
  return fmt::format("{}[{}]: {}got {:.9g}, expected {:.9g}, off by {:.3g}, limit {:.3g}", tensor.name, index, rule,
                     finding.got, finding.expected, finding.error, finding.limit);
}

bool IsOf(CompareClass kind, const Tensor& tensor) { return tensor.compare && tensor.compare->kind == kind; }

bool HasOutputOf(CompareClass kind, const Contract& contract) {
  return std::ranges::any_of(contract.tensors, [&](const Tensor& tensor) { return IsOf(kind, tensor); });
}

std::vector<int64_t> AllSlices(int64_t count) {
  std::vector<int64_t> slices(static_cast<size_t>(count));
  std::iota(slices.begin(), slices.end(), int64_t{0});
  return slices;
}

std::vector<int64_t> DrawSlices(int64_t count, int64_t most, Stream& stream) {
  if (count <= most) return AllSlices(count);
  std::set<int64_t> drawn{0, count - 1};
  while (static_cast<int64_t>(drawn.size()) < most)
    drawn.insert(static_cast<int64_t>(stream.Below(static_cast<uint64_t>(count))));
  return {drawn.begin(), drawn.end()};
}

std::vector<int64_t> SomeFirst(std::vector<int64_t> slices, size_t some, Stream& stream) {
  if (slices.size() <= some) return slices;
  for (size_t i = 0; i < some; ++i) std::swap(slices[i], slices[i + stream.Below(slices.size() - i)]);
  const auto middle = slices.begin() + static_cast<std::ptrdiff_t>(some);
  std::sort(slices.begin(), middle);
  std::sort(middle, slices.end());
  return slices;
}

}  // namespace assay
