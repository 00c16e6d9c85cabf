// SPDX-License-Identifier: Apache-2.0
#include "contract/relation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "contract/values.h"

namespace assay {
namespace {

// Small enough that nothing drawn from ordinary values leaves the normal range of f16 and up.
constexpr int kLargestPower = 6;
bool IsInput(const Tensor& tensor) { return tensor.role != Role::kOut; }
bool IsOutput(const Tensor& tensor) { return tensor.role != Role::kIn; }

// Dimensions that are this axis and nothing else.
std::vector<size_t> DimensionsOf(const Tensor& tensor, const std::string& axis) {
  std::vector<size_t> dimensions;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d].text() == axis) dimensions.push_back(d);
  }
  return dimensions;
}

// The inputs that a relation is about; all of them when it names none.
std::vector<size_t> InputsOf(const Contract& contract, const Relation& relation) {
  std::vector<size_t> inputs;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    const bool named =
        relation.of.empty() || std::find(relation.of.begin(), relation.of.end(), tensor.name) != relation.of.end();
    if (named && IsInput(tensor)) inputs.push_back(t);
  }
  return inputs;
}

void CopyElement(DType dtype, std::span<const std::byte> from, int64_t source, std::span<std::byte> to,
                 int64_t target) {
  const int bits = Info(dtype).bits;
  if (bits < 8) {
    StoreElement(dtype, to, target, LoadElement(dtype, from, source));
    return;
  }
  const size_t width = static_cast<size_t>(bits) / 8;
  std::memcpy(to.data() + static_cast<size_t>(target) * width, from.data() + static_cast<size_t>(source) * width,
              width);
}

// Calls `use(index, offset)` for every element.
void ForEachElement(const TensorLayout& layout,
                    const std::function<void(const std::vector<int64_t>& index, int64_t offset)>& use) {
  std::vector<int64_t> index(layout.extents.size(), 0);
  for (int64_t e = 0; e < layout.element_count; ++e) {
    use(index, ElementOffset(layout, index));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < layout.extents[d]) break;
      index[d] = 0;
    }
  }
}

// Other values of the same kind, element by element; of a tensor without a generator its own, mixed up.
Result<std::vector<std::byte>> DrawAgain(const Contract& contract, size_t t, const Shape& shape,
                                         const std::vector<std::byte>& old, const TensorLayout& old_layout,
                                         Stream& stream) {
  const Tensor& tensor = contract.tensors[t];
  ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
  std::vector<std::byte> fresh(static_cast<size_t>(layout.byte_span));
  if (layout.element_count == 0) return fresh;
  if (!tensor.values.empty()) {
    FillTensor(tensor, layout, tensor.values.front(), shape, fresh, stream);
    return fresh;
  }
  FillPoison(tensor.dtype, fresh, stream);
  if (old_layout.element_count == 0) return fresh;
  ForEachElement(layout, [&](const std::vector<int64_t>&, int64_t offset) {
    const auto from = static_cast<int64_t>(stream.Below(static_cast<uint64_t>(old_layout.element_count)));
    CopyElement(tensor.dtype, old, ElementOffset(old_layout, from), fresh, offset);
  });
  return fresh;
}

// Every output element that is present, tied to the place that `target` gives it in the second call's layout; none
// where it gives nothing.
using Target = std::function<bool(size_t tensor, const std::vector<int64_t>& index, std::vector<int64_t>& second)>;
Status TieOutputs(const Contract& contract, const Shape& first, const Shape& second, const Target& target,
                  std::vector<Tie>& ties) {
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (!IsOutput(tensor) || first.absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(const TensorLayout from, LayoutOf(contract, tensor, first));
    ASSAY_TRY(const TensorLayout to, LayoutOf(contract, tensor, second));
    std::vector<int64_t> place;
    ForEachElement(from, [&](const std::vector<int64_t>& index, int64_t offset) {
      place = index;
      if (target(t, index, place)) ties.push_back({t, offset, ElementOffset(to, place)});
    });
  }
  return Ok();
}

bool ToItself(size_t, const std::vector<int64_t>&, std::vector<int64_t>&) { return true; }
int64_t ExtentOf(const Shape& shape, const std::string& axis) {
  const auto found = shape.axes.find(axis);
  return found == shape.axes.end() ? 0 : found->second;
}

size_t AbsentOf(const Relation& relation, const Shape& shape) {
  return static_cast<size_t>(std::count_if(relation.of.begin(), relation.of.end(), [&](const std::string& name) {
    return shape.absent_tensors.contains(name);
  }));
}

// Redraws, or makes NaN, the elements of a tensor that `chosen` names.
Status Replace(const Contract& contract, const Relation& relation, size_t t, CallInputs& call, Stream& stream,
               const std::function<bool(const std::vector<int64_t>&)>& chosen) {
  const Tensor& tensor = contract.tensors[t];
  std::vector<std::byte>& bytes = call.tensors[t];
  if (bytes.empty()) return Ok();
  ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, call.shape));
  ASSAY_TRY(const std::vector<std::byte> fresh, DrawAgain(contract, t, call.shape, bytes, layout, stream));
  const bool nan = relation.with == "nan" && Info(tensor.dtype).has_nan;
  ForEachElement(layout, [&](const std::vector<int64_t>& index, int64_t offset) {
    if (!chosen(index)) return;
    if (nan) {
      StoreElement(tensor.dtype, bytes, offset, std::numeric_limits<double>::quiet_NaN());
    } else {
      CopyElement(tensor.dtype, fresh, offset, bytes, offset);
    }
  });
  return Ok();
}

bool Reaches(const std::vector<int64_t>& index, const std::vector<size_t>& dimensions, int64_t from) {
  return std::any_of(dimensions.begin(), dimensions.end(), [&](size_t d) { return index[d] >= from; });
}

std::string NamesText(const Contract& contract, const std::vector<size_t>& tensors) {
  std::vector<std::string> names;
  for (const size_t t : tensors) names.push_back(contract.tensors[t].name);
  return Join(names, ", ");
}

// What lies at or behind a place along the axis cannot reach outputs before it.
class CausalRule : public RelationRule {
 public:
  using RelationRule::RelationRule;
  bool Shows(const Shape& shape) const override { return ExtentOf(shape, relation_.axis) >= 2; }

  Result<RelatedCall> Draw(CallInputs& first, Stream& stream) const override {
    RelatedCall related;
    const int64_t extent = ExtentOf(first.shape, relation_.axis);
    const int64_t from = 1 + static_cast<int64_t>(stream.Below(static_cast<uint64_t>(extent - 1)));
    related.second = first;
    const std::vector<size_t> inputs = InputsOf(contract_, relation_);
    for (const size_t t : inputs) {
      const std::vector<size_t> dimensions = DimensionsOf(contract_.tensors[t], relation_.axis);
      ASSAY_TRY_STATUS(Replace(contract_, relation_, t, *related.second, stream,
                               [&](const std::vector<int64_t>& index) { return Reaches(index, dimensions, from); }));
    }
    const auto before = [&](size_t t, const std::vector<int64_t>& index, std::vector<int64_t>&) {
      const std::vector<size_t> dimensions = DimensionsOf(contract_.tensors[t], relation_.axis);
      return !dimensions.empty() && !Reaches(index, dimensions, from);
    };
    ASSAY_TRY_STATUS(TieOutputs(contract_, first.shape, first.shape, before, related.ties));
    related.what = fmt::format("{} {} from {}={} on", NamesText(contract_, inputs),
                               relation_.with == "nan" ? "made NaN" : "redrawn", relation_.axis, from);
    return related;
  }
};

// Inputs in another order along an axis give outputs in that order.
class PermuteRule : public RelationRule {
 public:
  using RelationRule::RelationRule;
  bool Shows(const Shape& shape) const override { return ExtentOf(shape, relation_.axis) >= 2; }

  Result<RelatedCall> Draw(CallInputs& first, Stream& stream) const override {
    RelatedCall related;
    related.second = first;
    const std::vector<int64_t> order = Order(ExtentOf(first.shape, relation_.axis), stream);
    const ShapeNames names(first.shape);
    std::vector<Moved> moved{{relation_.axis, 1}};
    for (const auto& [axis, expression] : relation_.carries) {
      ASSAY_TRY(const int64_t block, expression.EvaluateInteger(names.names()));
      if (block < 1 || block * ExtentOf(first.shape, relation_.axis) != ExtentOf(first.shape, axis)) {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("relation.{}.carries: {} = \"{}\" gives {} of {}={} to each of {}={}; write how many "
                                 "belong to one",
                                 relation_.name, axis, expression.text(), block, axis, ExtentOf(first.shape, axis),
                                 relation_.axis, ExtentOf(first.shape, relation_.axis))};
      }
      moved.push_back({axis, block});
    }
    const auto to_new_place = [&](size_t t, const std::vector<int64_t>& index, std::vector<int64_t>& place) {
      place = index;
      for (const Moved& move : moved) {
        for (const size_t d : DimensionsOf(contract_.tensors[t], move.axis))
          place[d] = order[static_cast<size_t>(index[d] / move.block)] * move.block + index[d] % move.block;
      }
      return true;
    };
    for (const size_t t : InputsOf(contract_, relation_)) {
      if (first.tensors[t].empty()) continue;
      ASSAY_TRY(const TensorLayout layout, LayoutOf(contract_, contract_.tensors[t], first.shape));
      std::vector<int64_t> place;
      ForEachElement(layout, [&](const std::vector<int64_t>& index, int64_t offset) {
        to_new_place(t, index, place);
        CopyElement(layout.dtype, first.tensors[t], offset, related.second->tensors[t], ElementOffset(layout, place));
      });
    }
    ASSAY_TRY_STATUS(TieOutputs(contract_, first.shape, first.shape, to_new_place, related.ties));
    related.what = "permuted along " + relation_.axis;
    return related;
  }

 private:
  struct Moved {
    std::string axis;
    int64_t block;
  };
  // Never the order as it is.
  static std::vector<int64_t> Order(int64_t extent, Stream& stream) {
    std::vector<int64_t> order(static_cast<size_t>(extent));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.Below(i)]);
    if (std::is_sorted(order.begin(), order.end())) std::reverse(order.begin(), order.end());
    return order;
  }
};

// Inputs times a factor: outputs follow, or stay.
class ScaleRule : public RelationRule {
 public:
  using RelationRule::RelationRule;
  bool Shows(const Shape& shape) const override { return AbsentOf(relation_, shape) == 0; }

  Result<RelatedCall> Draw(CallInputs& first, Stream& stream) const override {
    RelatedCall related;
    related.second = first;
    ASSAY_TRY(related.factor, Factor(first.shape, stream));
    for (const size_t t : InputsOf(contract_, relation_)) {
      ASSAY_TRY(const TensorLayout layout, LayoutOf(contract_, contract_.tensors[t], first.shape));
      std::vector<std::byte>& bytes = related.second->tensors[t];
      ForEachElement(layout, [&](const std::vector<int64_t>&, int64_t offset) {
        StoreElement(layout.dtype, bytes, offset, LoadElement(layout.dtype, bytes, offset) * related.factor);
      });
    }
    ASSAY_TRY_STATUS(TieOutputs(contract_, first.shape, first.shape, ToItself, related.ties));
    related.what = fmt::format("{} times {:g}", Join(relation_.of, ", "), related.factor);
    return related;
  }

 private:
  Result<double> Factor(const Shape& shape, Stream& stream) const {
    if (relation_.by == "2^k") {
      const auto power = 1 + static_cast<int>(stream.Below(kLargestPower));
      return std::ldexp(1.0, stream.Below(2) == 0 ? power : -power);
    }
    ASSAY_TRY(const Expression by, Expression::Parse(relation_.by));
    return by.EvaluateNumber(ShapeNames(shape).names());
  }
};

// Inputs plus a number: outputs follow, or stay.
class ShiftRule : public RelationRule {
 public:
  using RelationRule::RelationRule;
  bool Shows(const Shape& shape) const override { return AbsentOf(relation_, shape) == 0; }

  Result<RelatedCall> Draw(CallInputs& first, Stream&) const override {
    RelatedCall related;
    ASSAY_TRY(const Expression by, Expression::Parse(relation_.by));
    const ShapeNames names(first.shape);
    ASSAY_TRY(const double wanted, by.EvaluateNumber(names.names()));
    double step = 0;
    for (const size_t t : InputsOf(contract_, relation_)) step = std::max(step, GridOf(t, first, wanted));
    related.shift = step > 0 ? std::nearbyint(wanted / step) * step : wanted;
    for (const size_t t : InputsOf(contract_, relation_)) {
      ASSAY_TRY(const TensorLayout layout, LayoutOf(contract_, contract_.tensors[t], first.shape));
      std::vector<std::byte>& bytes = first.tensors[t];
      if (step > 0) {
        ForEachElement(layout, [&](const std::vector<int64_t>&, int64_t offset) {
          const double value = LoadElement(layout.dtype, bytes, offset);
          if (std::isfinite(value)) StoreElement(layout.dtype, bytes, offset, std::nearbyint(value / step) * step);
        });
      }
    }
    related.second = first;
    for (const size_t t : InputsOf(contract_, relation_)) {
      ASSAY_TRY(const TensorLayout layout, LayoutOf(contract_, contract_.tensors[t], first.shape));
      std::vector<std::byte>& bytes = related.second->tensors[t];
      ForEachElement(layout, [&](const std::vector<int64_t>&, int64_t offset) {
        StoreElement(layout.dtype, bytes, offset, LoadElement(layout.dtype, bytes, offset) + related.shift);
      });
    }
    ASSAY_TRY_STATUS(TieOutputs(contract_, first.shape, first.shape, ToItself, related.ties));
    related.what = fmt::format("{} plus {:g}", Join(relation_.of, ", "), related.shift);
    return related;
  }

 private:
  // The spacing on which both x and x + shift are numbers of the format; 0 for integers.
  double GridOf(size_t t, const CallInputs& call, double shift) const {
    const Tensor& tensor = contract_.tensors[t];
    if (!Info(tensor.dtype).is_float || call.tensors[t].empty()) return 0;
    const auto layout = LayoutOf(contract_, tensor, call.shape);
    if (!layout.ok()) return 0;
    double largest = 0;
    ForEachElement(layout.value(), [&](const std::vector<int64_t>&, int64_t offset) {
      const double size = std::abs(LoadElement(tensor.dtype, call.tensors[t], offset));
      if (std::isfinite(size)) largest = std::max(largest, size);
    });
    // One binade of room, because the sum may enter it.
    return std::ldexp(1.0, std::ilogb(largest + std::abs(shift)) + 1 - MantissaBits(tensor.dtype));
  }
  static int MantissaBits(DType dtype) {
    switch (dtype) {
      case DType::kF64:
        return 52;
      case DType::kF32:
        return 23;
      case DType::kF16:
        return 10;
      case DType::kBf16:
        return 7;
      case DType::kE4m3:
        return 3;
      default:
        return 2;
    }
  }
};

// A longer axis leaves the outputs of the old places as they were.
class PadRule : public RelationRule {
 public:
  using RelationRule::RelationRule;
  bool Shows(const Shape& shape) const override { return Longer(shape).has_value(); }

  Result<RelatedCall> Draw(CallInputs& first, Stream& stream) const override {
    RelatedCall related;
    const std::optional<Shape> longer = Longer(first.shape);
    ASSAY_CHECK(longer.has_value());
    related.second = CallInputs{*longer, first.scalars, std::vector<std::vector<std::byte>>(first.tensors.size())};
    for (size_t t = 0; t < contract_.tensors.size(); ++t) {
      if (first.tensors[t].empty()) continue;
      ASSAY_TRY(const TensorLayout from, LayoutOf(contract_, contract_.tensors[t], first.shape));
      ASSAY_TRY(const TensorLayout to, LayoutOf(contract_, contract_.tensors[t], *longer));
      ASSAY_TRY(related.second->tensors[t], DrawAgain(contract_, t, *longer, first.tensors[t], from, stream));
      const std::vector<size_t> dimensions = DimensionsOf(contract_.tensors[t], relation_.axis);
      const int64_t extent = ExtentOf(first.shape, relation_.axis);
      ForEachElement(to, [&](const std::vector<int64_t>& index, int64_t offset) {
        if (!Reaches(index, dimensions, extent)) {
          CopyElement(to.dtype, first.tensors[t], ElementOffset(from, index), related.second->tensors[t], offset);
        } else if (relation_.with == "nan" && Info(to.dtype).has_nan) {
          StoreElement(to.dtype, related.second->tensors[t], offset, std::numeric_limits<double>::quiet_NaN());
        }
      });
    }
    ASSAY_TRY_STATUS(TieOutputs(contract_, first.shape, *longer, ToItself, related.ties));
    related.what = fmt::format("{} padded from {} to {}", relation_.axis, ExtentOf(first.shape, relation_.axis),
                               ExtentOf(*longer, relation_.axis));
    return related;
  }

 private:
  // By half, or by whatever the contract allows.
  std::optional<Shape> Longer(const Shape& shape) const {
    const int64_t extent = ExtentOf(shape, relation_.axis);
    for (const int64_t more : {extent / 2, extent, int64_t{1}, int64_t{2}}) {
      if (more < 1) continue;
      std::map<std::string, int64_t> axes = shape.axes;
      axes[relation_.axis] = extent + more;
      auto longer = DenseShape(contract_, axes);
      if (!longer.ok()) continue;
      longer.value().absent_tensors = shape.absent_tensors;
      if (Legal(contract_, longer.value())) return std::move(longer).value();
    }
    return std::nullopt;
  }
};

class SumsToRule : public RelationRule {
 public:
  using RelationRule::RelationRule;
  bool Shows(const Shape& shape) const override {
    return ExtentOf(shape, relation_.axis) >= 1 && AbsentOf(relation_, shape) < relation_.of.size();
  }

  Result<RelatedCall> Draw(CallInputs& first, Stream&) const override {
    RelatedCall related;
    for (size_t t = 0; t < contract_.tensors.size(); ++t) {
      const Tensor& tensor = contract_.tensors[t];
      if (std::find(relation_.of.begin(), relation_.of.end(), tensor.name) == relation_.of.end()) continue;
      if (first.shape.absent_tensors.contains(tensor.name)) continue;
      ASSAY_TRY(const TensorLayout layout, LayoutOf(contract_, tensor, first.shape));
      const size_t along = DimensionsOf(tensor, relation_.axis).front();
      std::map<std::vector<int64_t>, size_t> lines;
      ForEachElement(layout, [&](std::vector<int64_t> index, int64_t offset) {
        index[along] = 0;
        const auto [at, fresh] = lines.try_emplace(std::move(index), related.sums.size());
        if (fresh) related.sums.push_back({t, {}, relation_.value.value_or(0)});
        related.sums[at->second].offsets.push_back(offset);
      });
    }
    related.what = fmt::format("{} summed along {}", Join(relation_.of, ", "), relation_.axis);
    return related;
  }
};

class UntouchedRule : public RelationRule {
 public:
  using RelationRule::RelationRule;
  bool Shows(const Shape& shape) const override { return AbsentOf(relation_, shape) < relation_.of.size(); }

  Result<RelatedCall> Draw(CallInputs& first, Stream&) const override {
    RelatedCall related;
    for (const size_t t : InputsOf(contract_, relation_)) {
      if (!first.tensors[t].empty()) related.kept.push_back(t);
    }
    related.what = "what " + Join(relation_.of, ", ") + " held before the call";
    return related;
  }
};

class PerturbOneRule : public RelationRule {
 public:
  using RelationRule::RelationRule;
  bool Shows(const Shape& shape) const override { return AbsentOf(relation_, shape) < relation_.of.size(); }

  Result<RelatedCall> Draw(CallInputs& first, Stream& stream) const override {
    std::vector<size_t> present;
    for (const size_t t : InputsOf(contract_, relation_)) {
      if (!first.tensors[t].empty()) present.push_back(t);
    }
    if (present.empty()) return Error{ErrorCode::kNotFound, "no element to perturb"};
    return PerturbOne(contract_, first, present[stream.Below(present.size())], stream);
  }
};

}  // namespace

Result<RelatedCall> PerturbOne(const Contract& contract, const CallInputs& first, size_t t, Stream& stream) {
  constexpr int kTries = 8;
  const Tensor& tensor = contract.tensors[t];
  ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, first.shape));
  RelatedCall related;
  related.unchanged_only = true;
  if (layout.element_count > 0) {
    const auto element = static_cast<int64_t>(stream.Below(static_cast<uint64_t>(layout.element_count)));
    const int64_t offset = ElementOffset(layout, element);
    for (int i = 0; i < kTries && !related.second; ++i) {
      ASSAY_TRY(const std::vector<std::byte> fresh,
                DrawAgain(contract, t, first.shape, first.tensors[t], layout, stream));
      if (LoadElement(tensor.dtype, fresh, offset) == LoadElement(tensor.dtype, first.tensors[t], offset)) continue;
      related.second = first;
      CopyElement(tensor.dtype, fresh, offset, related.second->tensors[t], offset);
      related.what = fmt::format("{}: element {} redrawn", tensor.name, element);
    }
  }
  if (!related.second) return Error{ErrorCode::kNotFound, tensor.name + " has one value only"};
  ASSAY_TRY_STATUS(TieOutputs(contract, first.shape, first.shape, ToItself, related.ties));
  return related;
}

std::unique_ptr<RelationRule> MakeRelation(const Contract& contract, const Relation& relation) {
  switch (relation.kind) {
    case RelationKind::kCausal:
      return std::make_unique<CausalRule>(contract, relation);
    case RelationKind::kPermute:
      return std::make_unique<PermuteRule>(contract, relation);
    case RelationKind::kScale:
      return std::make_unique<ScaleRule>(contract, relation);
    case RelationKind::kShift:
      return std::make_unique<ShiftRule>(contract, relation);
    case RelationKind::kPad:
      return std::make_unique<PadRule>(contract, relation);
    case RelationKind::kSumsTo:
      return std::make_unique<SumsToRule>(contract, relation);
    case RelationKind::kUntouched:
      return std::make_unique<UntouchedRule>(contract, relation);
    case RelationKind::kPerturbOne:
      return std::make_unique<PerturbOneRule>(contract, relation);
  }
  ASSAY_CHECK(false);
}

}  // namespace assay
