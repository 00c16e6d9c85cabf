// SPDX-License-Identifier: Apache-2.0
#include "contract/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/text.h"
#include "contract/load_tables.h"
#include "contract/neighbour.h"

namespace assay {
namespace {

constexpr size_t kMostSteps = 8;
constexpr double kLargestSize = 1e12;

Error Refuse(std::string text) { return Error{ErrorCode::kInvalidInput, std::move(text)}; }

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// CONTRACT or CONTRACT(THEIRS = OURS, THEIRS = NUMBER, ...).
std::optional<SequenceStep> ParseStep(std::string_view text) {
  SequenceStep step;
  step.text = Trimmed(text);
  const size_t open = text.find('(');
  step.name = Trimmed(text.substr(0, open));
  if (!IsLabel(step.name)) return std::nullopt;
  if (open == std::string_view::npos) return step;
  std::string_view rest = Trimmed(text.substr(open + 1));
  if (!rest.ends_with(')')) return std::nullopt;
  rest.remove_suffix(1);
  while (!Trimmed(rest).empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view pair = rest.substr(0, comma);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string theirs(Trimmed(pair.substr(0, equals)));
    const std::string_view value = Trimmed(pair.substr(equals + 1));
    if (!IsArgumentName(theirs) || step.names.contains(theirs) || step.numbers.contains(theirs)) return std::nullopt;
    if (const auto number = ParseNumber(value)) {
      step.numbers[theirs] = *number;
    } else if (IsArgumentName(value)) {
      step.names[theirs] = value;
    } else {
      return std::nullopt;
    }
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return step;
}

bool IsDense(const TensorLayout& layout) {
  int64_t below = 1;
  for (size_t d = layout.extents.size(); d-- > 0; below *= layout.extents[d]) {
    if (layout.strides[d] != below) return false;
  }
  return true;
}

// Lays out one step after the other.
class Layer {
 public:
  Layer(const Contract& ours, const Shape& shape) : ours_(ours), shape_(shape) {}

  Status Begin();
  Status Add(const SequenceStep& step);
  Status End() const;
  std::vector<StepLayout> Take() { return std::move(steps_); }

 private:
  // A tensor that is there, or that is to be written.
  struct Thing {
    StepTensor place;
    std::vector<int64_t> extents;
    DType dtype = DType::kF32;
  };
  static std::string NameOf(const SequenceStep& step, const std::string& theirs) {
    const auto mapped = step.names.find(theirs);
    return mapped == step.names.end() ? theirs : mapped->second;
  }
  Status CheckMentioned(const SequenceStep& step) const;
  Result<const Thing*> ThingFor(const SequenceStep& step, const Tensor& tensor) const;
  Result<Shape> SizesFor(const SequenceStep& step, const std::vector<const Thing*>& things) const;
  Status AddScalars(const SequenceStep& step, StepLayout& layout) const;

  const Contract& ours_;
  const Shape& shape_;
  std::map<std::string, Thing> there_;   // inputs of ours, and what steps wrote
  std::map<std::string, Thing> wanted_;  // outputs of ours that no step wrote so far
  std::vector<StepLayout> steps_;
};

Status Layer::Begin() {
  for (size_t t = 0; t < ours_.tensors.size(); ++t) {
    const Tensor& tensor = ours_.tensors[t];
    if (shape_.absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(TensorLayout layout, LayoutOf(ours_, tensor, shape_));
    if (tensor.role == Role::kInOut || !IsDense(layout))
      return Refuse(fmt::format("{} is changed in place or not dense, which no step can take over", tensor.name));
    auto& things = tensor.role == Role::kIn ? there_ : wanted_;
    things[tensor.name] = {{std::nullopt, t}, layout.extents, tensor.dtype};
  }
  return Ok();
}

Status Layer::CheckMentioned(const SequenceStep& step) const {
  const Contract& theirs = *step.contract;
  if (theirs.references.empty()) return Refuse(step.name + " has no baseline and no peer; add one");
  for (const auto& [name, ours] : step.names) {
    if (theirs.FindTensor(name) == nullptr && theirs.FindScalar(name) == nullptr)
      return Refuse(fmt::format("{} has no tensor and no scalar {}; correct {} = {}", step.name, name, name, ours));
  }
  for (const auto& [name, number] : step.numbers) {
    if (theirs.FindAxis(name) == nullptr && theirs.FindScalar(name) == nullptr)
      return Refuse(fmt::format("{} has no axis and no scalar {}; correct {} = {}", step.name, name, name, number));
    const bool size = number >= 0 && number <= kLargestSize && number == std::floor(number);
    if (theirs.FindAxis(name) != nullptr && !size)
      return Refuse(fmt::format("{} is no size; correct {} = {}", number, name, number));
  }
  return Ok();
}

// What the step's tensor is here; null when it is absent, or new.
Result<const Layer::Thing*> Layer::ThingFor(const SequenceStep& step, const Tensor& tensor) const {
  const Thing* none = nullptr;
  const std::string name = NameOf(step, tensor.name);
  if (tensor.role == Role::kInOut)
    return Refuse(
        fmt::format("{} changes {} in place, which no step may; use another contract", step.name, tensor.name));
  const auto& things = tensor.role == Role::kIn ? there_ : wanted_;
  const auto found = things.find(name);
  if (found == things.end()) {
    if (tensor.optional && !step.names.contains(tensor.name)) return none;
    if (tensor.role == Role::kIn) {
      return Refuse(
          fmt::format("{} reads {}, and no input or result of that name is there by then; write {}({} = NAME)",
                      step.name, name, step.name, tensor.name));
    }
    if (there_.contains(name)) {
      return Refuse(fmt::format("{} writes {}, which is there already; write {}({} = NAME)", step.name, name, step.name,
                                tensor.name));
    }
    return none;
  }
  if (found->second.dtype != tensor.dtype) {
    return Refuse(fmt::format("{}'s {} is {}, but {} is {}; connect another", step.name, tensor.name,
                              Info(tensor.dtype).name, name, Info(found->second.dtype).name));
  }
  return &found->second;
}

// Axes: given here, of the same name in ours, or as the connected tensors have them.
Result<Shape> Layer::SizesFor(const SequenceStep& step, const std::vector<const Thing*>& things) const {
  const Contract& theirs = *step.contract;
  std::map<std::string, int64_t> axes;
  for (const Axis& axis : theirs.axes) {
    const auto given = step.numbers.find(axis.name);
    const auto same = shape_.axes.find(axis.name);
    if (given != step.numbers.end()) {
      axes[axis.name] = static_cast<int64_t>(given->second);
    } else if (same != shape_.axes.end()) {
      axes[axis.name] = same->second;
    }
  }
  for (size_t t = 0; t < things.size(); ++t) {
    const std::vector<Expression>& extents = theirs.tensors[t].shape;
    if (things[t] == nullptr || things[t]->extents.size() != extents.size()) continue;
    for (size_t d = 0; d < extents.size(); ++d) {
      if (theirs.FindAxis(extents[d].text()) != nullptr) axes.try_emplace(extents[d].text(), things[t]->extents[d]);
    }
  }
  for (const Axis& axis : theirs.axes) {
    if (!axes.contains(axis.name)) {
      return Refuse(fmt::format("the axis {} of {} follows from nothing; write {}({} = SIZE)", axis.name, step.name,
                                step.name, axis.name));
    }
  }
  return DenseShape(theirs, axes);
}

Status Layer::AddScalars(const SequenceStep& step, StepLayout& layout) const {
  for (const Scalar& scalar : step.contract->scalars) {
    layout.scalars.emplace_back();
    const auto number = step.numbers.find(scalar.name);
    if (number != step.numbers.end()) {
      layout.shape.scalars[scalar.name] = number->second;
      continue;
    }
    const Scalar* same = ours_.FindScalar(NameOf(step, scalar.name));
    if (same == nullptr) {
      return Refuse(fmt::format("the scalar {} of {} has no value; write {}({} = NUMBER), or the name of one here",
                                scalar.name, step.name, step.name, scalar.name));
    }
    layout.scalars.back() = static_cast<size_t>(same - ours_.scalars.data());
  }
  return Ok();
}

Status Layer::Add(const SequenceStep& step) {
  ASSAY_TRY_STATUS(CheckMentioned(step));
  const Contract& theirs = *step.contract;
  std::vector<const Thing*> things;
  for (const Tensor& tensor : theirs.tensors) {
    ASSAY_TRY(const Thing* thing, ThingFor(step, tensor));
    things.push_back(thing);
  }
  StepLayout layout;
  ASSAY_TRY(layout.shape, SizesFor(step, things));
  for (size_t t = 0; t < things.size(); ++t) {
    const Tensor& tensor = theirs.tensors[t];
    const bool absent = things[t] == nullptr && tensor.optional && !step.names.contains(tensor.name);
    if (absent) layout.shape.absent_tensors.insert(tensor.name);
  }
  ASSAY_TRY_STATUS(AddScalars(step, layout));
  if (const Status legal = CheckLegal(theirs, layout.shape); !legal.ok())
    return Refuse(fmt::format("the sizes of {} that follow are not legal: {}", step.name, legal.error().message));
  std::map<std::string, Thing> written;
  for (size_t t = 0; t < things.size(); ++t) {
    const Tensor& tensor = theirs.tensors[t];
    layout.tensors.push_back(things[t] == nullptr ? std::nullopt : std::optional(things[t]->place));
    if (layout.shape.absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(const TensorLayout lies, LayoutOf(theirs, tensor, layout.shape));
    if (things[t] != nullptr && things[t]->extents != lies.extents) {
      return Refuse(fmt::format("{}'s {} has another shape than {}; give it axes, as in {}(AXIS = SIZE)", step.name,
                                tensor.name, NameOf(step, tensor.name), step.name));
    }
    if (tensor.role == Role::kOut)
      written[NameOf(step, tensor.name)] = {{steps_.size(), t}, lies.extents, tensor.dtype};
  }
  for (auto& [name, thing] : written) {
    wanted_.erase(name);
    there_[name] = std::move(thing);
  }
  steps_.push_back(std::move(layout));
  return Ok();
}

Status Layer::End() const {
  if (wanted_.empty()) return Ok();
  return Refuse(fmt::format("no step writes {}; add one, or say which output it is, as in CONTRACT(OUTPUT = {})",
                            wanted_.begin()->first, wanted_.begin()->first));
}

}  // namespace

Result<KernelSequence> ReadSequence(const Reader& reader, const std::string& name) {
  KernelSequence sequence;
  sequence.name = name;
  for (const std::string_view key : {"source", "flags", "libraries", "unset", "trust", "info"}) {
    if (reader.Has(key)) return reader.At(key, "does not go with sequence; remove one of them");
  }
  for (const std::string& text : reader.Texts("sequence")) {
    auto step = ParseStep(text);
    if (!step) {
      return reader.At("sequence", fmt::format("\"{}\" is no step; write CONTRACT, or CONTRACT(ITS_NAME = NAME_HERE, "
                                               "ITS_AXIS = SIZE)",
                                               Printable(text)));
    }
    sequence.steps.push_back(*std::move(step));
  }
  if (sequence.steps.size() < 2 || sequence.steps.size() > kMostSteps)
    return reader.At("sequence", fmt::format("has {} steps; write 2 to {}", sequence.steps.size(), kMostSteps));
  return sequence;
}

Result<std::vector<StepLayout>> LayOut(const Contract& ours, const Shape& shape, const KernelSequence& sequence) {
  Layer layer(ours, shape);
  ASSAY_TRY_STATUS(layer.Begin());
  for (const SequenceStep& step : sequence.steps) ASSAY_TRY_STATUS(layer.Add(step));
  ASSAY_TRY_STATUS(layer.End());
  return layer.Take();
}

Status FindSequences(const Locator& where, Contract& contract) {
  if (contract.sequences.empty()) return Ok();
  RecordHash hash("contract with sequences");
  hash.Add("contract", contract.hash);
  for (KernelSequence& sequence : contract.sequences) {
    const auto here = [&](std::string_view what) { return where.At({"peer", sequence.name, "sequence"}, what); };
    for (SequenceStep& step : sequence.steps) {
      ASSAY_TRY(step.contract, ContractBeside(contract, step.name, here));
      hash.Add("step", step.contract->hash);
    }
    for (const Workload& workload : contract.workloads) {
      ASSAY_TRY(const Shape shape, WorkloadShape(contract, workload));
      const auto laid = LayOut(contract, shape, sequence);
      if (!laid.ok()) return here(fmt::format("on workload {}: {}", workload.name, laid.error().message));
    }
  }
  // What a claim is made against is part of what it says.
  contract.hash = hash.Finish();
  return Ok();
}

}  // namespace assay
