// SPDX-License-Identifier: Apache-2.0
#include "contract/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/generator.h"
#include "contract/shape_search.h"

namespace assay {
namespace {

Error Refuse(std::string what) { return Error{ErrorCode::kInvalidInput, std::move(what)}; }

Result<std::vector<int64_t>> Extents(const Tensor& tensor, const ShapeNames& names) {
  std::vector<int64_t> extents;
  for (const Expression& expression : tensor.shape) {
    ASSAY_TRY(const int64_t extent, expression.EvaluateInteger(names.names()));
    if (extent < 0) return Refuse(fmt::format("\"{}\" gives {}, a negative extent", expression.text(), extent));
    extents.push_back(extent);
  }
  return extents;
}

// Raises every stride that is below what its tensors need; `pads` says how far above it goes then.
// A name may serve several tensors and dimensions, hence the passes.
Status RaiseStrides(const Contract& contract, const std::map<std::string, int64_t>& pads, Shape& shape) {
  const ShapeNames names(shape);
  for (int pass = 0; pass < 16; ++pass) {
    bool changed = false;
    for (const Tensor& tensor : contract.tensors) {
      if (tensor.stride.empty()) continue;
      const Result<std::vector<int64_t>> read = Extents(tensor, names);
      if (!read.ok()) return Annotate(read.error(), tensor.name);
      const std::vector<int64_t>& extents = read.value();
      int64_t dense = 1;
      for (size_t d = extents.size(); d-- > 0;) {
        int64_t stride = dense;
        if (!tensor.stride[d].empty()) {
          int64_t& value = shape.strides[tensor.stride[d]];
          const int64_t least = std::max<int64_t>(1, dense);
          const auto pad = pads.find(tensor.stride[d]);
          if (value < least) {
            value = least + (pad == pads.end() ? 0 : pad->second);
            changed = true;
          }
          stride = value;
        }
        if (__builtin_mul_overflow(stride, extents[d], &dense))
          return Refuse(fmt::format("{}: the strides overflow 64 bits", tensor.name));
      }
    }
    if (!changed) return Ok();
  }
  return Refuse("the strides need each other to be larger; use different names");
}

}  // namespace

Result<Shape> PaddedShape(const Contract& contract, const std::map<std::string, int64_t>& axes,
                          const std::map<std::string, int64_t>& pads) {
  Shape shape;
  shape.axes = axes;
  ASSAY_TRY_STATUS(RaiseStrides(contract, pads, shape));
  return shape;
}

ShapeNames::ShapeNames(const Shape& shape) {
  for (const auto& [name, value] : shape.axes) values_.emplace_back(name, Value{value});
  for (const auto& [name, value] : shape.strides) values_.emplace_back(name, Value{value});
}

const Value* ShapeNames::Find(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return &value;
  }
  return nullptr;
}

Names ShapeNames::names() const {
  return [this](std::string_view name) { return Find(name); };
}

std::string Describe(const Contract& contract, const Shape& shape) {
  std::string text;
  for (const ArgumentRef& argument : contract.arguments) {
    const auto& sizes = argument.kind == ArgumentKind::kStride ? shape.strides : shape.axes;
    const auto found = sizes.find(argument.name);
    if (found != sizes.end()) text += fmt::format("{}{}={}", text.empty() ? "" : " ", argument.name, found->second);
  }
  for (const std::string& name : shape.absent_tensors) text += fmt::format("{}-{}", text.empty() ? "" : " ", name);
  for (const auto& [output, input] : shape.aliases)
    text += fmt::format("{}{}@{}", text.empty() ? "" : " ", output, input);
  for (const auto& [name, value] : shape.scalars) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

Result<TensorLayout> LayoutOf(const Contract& contract, const Tensor& tensor, const Shape& shape) {
  const ShapeNames names(shape);
  TensorLayout layout;
  layout.dtype = tensor.dtype;
  Result<std::vector<int64_t>> extents = Extents(tensor, names);
  if (!extents.ok()) return Annotate(extents.error(), tensor.name);
  layout.extents = std::move(extents).value();
  layout.strides.resize(layout.extents.size());
  layout.element_count = 1;
  int64_t dense = 1, last = 0;
  bool overflow = false;
  for (size_t d = layout.extents.size(); d-- > 0;) {
    const int64_t extent = layout.extents[d];
    int64_t stride = dense;
    if (!tensor.stride.empty() && !tensor.stride[d].empty()) {
      const auto named = shape.strides.find(tensor.stride[d]);
      if (named == shape.strides.end())
        return Refuse(fmt::format("{}: the stride {} has no value", tensor.name, tensor.stride[d]));
      stride = named->second;
      if (stride < std::max<int64_t>(1, dense)) {
        return Refuse(fmt::format("{}: the stride {} = {} is below {}, where rows would overlap", tensor.name,
                                  tensor.stride[d], stride, std::max<int64_t>(1, dense)));
      }
    }
    layout.strides[d] = stride;
    int64_t reach = 0;
    overflow = overflow || __builtin_mul_overflow(stride, extent, &dense) ||
               __builtin_mul_overflow(layout.element_count, extent, &layout.element_count) ||
               __builtin_mul_overflow(stride, std::max<int64_t>(extent - 1, 0), &reach) ||
               __builtin_add_overflow(last, reach, &last);
  }
  // The first test bounds the elements, so that the second cannot overflow.
  if (overflow || last >= kMaxTensorBytes ||
      static_cast<int64_t>(ByteSize(layout.dtype, static_cast<size_t>(last) + 1)) > kMaxTensorBytes) {
    return Refuse(fmt::format("{}: larger than {} bytes at {}; make the axes smaller", tensor.name, kMaxTensorBytes,
                              Describe(contract, shape)));
  }
  if (layout.element_count > 0) {
    layout.byte_span = static_cast<int64_t>(ByteSize(layout.dtype, static_cast<size_t>(last) + 1));
    layout.padded = last + 1 > layout.element_count;
  }
  return layout;
}

int64_t ElementOffset(const TensorLayout& layout, std::span<const int64_t> index) {
  ASSAY_CHECK(index.size() == layout.strides.size());
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * layout.strides[d];
  return offset;
}

int64_t ElementOffset(const TensorLayout& layout, int64_t element) {
  if (!layout.padded) return element;
  int64_t offset = 0;
  for (size_t d = layout.extents.size(); d-- > 0;) {
    offset += element % layout.extents[d] * layout.strides[d];
    element /= layout.extents[d];
  }
  return offset;
}

Result<Shape> DenseShape(const Contract& contract, const std::map<std::string, int64_t>& axes) {
  return PaddedShape(contract, axes, {});
}

Result<Shape> WorkloadShape(const Contract& contract, const Workload& workload) {
  Shape shape;
  for (const auto& [name, value] : workload.axes)
    (contract.FindAxis(name) != nullptr ? shape.axes : shape.strides)[name] = value;
  const std::map<std::string, int64_t> asked = shape.strides;
  ASSAY_TRY_STATUS(RaiseStrides(contract, {}, shape));
  for (const auto& [name, value] : asked) {
    if (shape.strides[name] != value)
      return Refuse(
          fmt::format("the stride {} = {} is below {}, where rows would overlap", name, value, shape.strides[name]));
  }
  shape.absent_tensors.insert(workload.null_tensors.begin(), workload.null_tensors.end());
  shape.scalars = workload.scalars;
  return shape;
}

bool MayShare(const Contract& contract, const Tensor& output, const Tensor& input, const Shape& shape) {
  const bool said =
      std::ranges::count(output.may_alias, input.name) + std::ranges::count(input.may_alias, output.name) > 0;
  if (!said || shape.absent_tensors.contains(output.name) || shape.absent_tensors.contains(input.name)) return false;
  const auto one = LayoutOf(contract, output, shape), other = LayoutOf(contract, input, shape);
  return one.ok() && other.ok() && one.value() == other.value();
}

Status CheckAxes(const Contract& contract, const Shape& shape) {
  for (const Axis& axis : contract.axes) {
    const auto found = shape.axes.find(axis.name);
    if (found == shape.axes.end()) return Refuse(fmt::format("{} has no size", axis.name));
    const int64_t size = found->second;
    const bool listed = axis.of.empty() || std::ranges::binary_search(axis.of, size);
    if (size < axis.min || size > axis.max || !listed) {
      return Refuse(fmt::format("{} = {} is not among its sizes ({} to {}{})", axis.name, size, axis.min, axis.max,
                                axis.of.empty() ? "" : ", listed in of"));
    }
  }
  return Ok();
}

namespace {

Status CheckGenerators(const std::vector<Generator>& generators, const std::string& name, const ShapeNames& names) {
  for (const Generator& generator : generators) {
    const auto numbers = GeneratorNumbers(generator, names.names());
    if (!numbers.ok()) return Annotate(numbers.error(), name);
  }
  return Ok();
}

// A slice may name axes that no tensor multiplies, so layouts do not bound it.
Result<int64_t> SlicesOf(const std::vector<std::string>& axes, const Shape& shape) {
  int64_t count = 1;
  for (const std::string& axis : axes) {
    if (__builtin_mul_overflow(count, shape.axes.at(axis), &count))
      return Refuse("the number of slices overflows 64 bits");
  }
  return count;
}

}  // namespace

Status CheckLegal(const Contract& contract, const Shape& shape) {
  ASSAY_TRY_STATUS(CheckAxes(contract, shape));
  const ShapeNames names(shape);
  for (const Expression& condition : contract.require) {
    ASSAY_TRY(const bool holds, condition.EvaluateCondition(names.names()));
    if (!holds) return Refuse(fmt::format("\"{}\" does not hold at {}", condition.text(), Describe(contract, shape)));
  }
  for (const Tensor& tensor : contract.tensors) {
    ASSAY_TRY_STATUS(LayoutOf(contract, tensor, shape));
    ASSAY_TRY_STATUS(CheckGenerators(tensor.values, tensor.name, names));
    if (tensor.compare && tensor.compare->own_slice) ASSAY_TRY_STATUS(SlicesOf(tensor.compare->slice, shape));
    for (const Expression& end : tensor.range) ASSAY_TRY_STATUS(end.EvaluateInteger(names.names()));
  }
  ASSAY_TRY_STATUS(SlicesOf(contract.slice, shape));
  for (const Scalar& scalar : contract.scalars) ASSAY_TRY_STATUS(CheckGenerators(scalar.values, scalar.name, names));
  if (contract.cost) ASSAY_TRY_STATUS(Operations(contract, shape));
  if (contract.cost) ASSAY_TRY_STATUS(BytesTouched(contract, shape));
  return Ok();
}

bool Legal(const Contract& contract, const Shape& shape) { return CheckLegal(contract, shape).ok(); }

ShapeLimits LimitsOf(const Contract& contract) {
  ShapeLimits limits;
  if (contract.policy.shape_operations) limits.flops = *contract.policy.shape_operations;
  return limits;
}

namespace {

int64_t CountOf(const std::vector<std::string>& axes, const Shape& shape) {
  const auto count = SlicesOf(axes, shape);
  ASSAY_CHECK(count.ok());  // the shape is legal
  return count.value();
}

std::vector<int64_t> IndexOf(const std::vector<std::string>& axes, const Shape& shape, int64_t flat) {
  std::vector<int64_t> index(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t size = shape.axes.at(axes[i]);
    index[i] = flat % size;
    flat /= size;
  }
  return index;
}

const std::vector<std::string>& SliceOf(const Contract& contract, const Tensor& output) {
  return output.compare && output.compare->own_slice ? output.compare->slice : contract.slice;
}

}  // namespace

int64_t SliceCount(const Contract& contract, const Shape& shape) { return CountOf(contract.slice, shape); }

std::vector<int64_t> SliceIndex(const Contract& contract, const Shape& shape, int64_t flat) {
  return IndexOf(contract.slice, shape, flat);
}

int64_t SliceCount(const Contract& contract, const Tensor& output, const Shape& shape) {
  return CountOf(SliceOf(contract, output), shape);
}

std::vector<int64_t> SliceIndex(const Contract& contract, const Tensor& output, const Shape& shape, int64_t flat) {
  return IndexOf(SliceOf(contract, output), shape, flat);
}

Result<double> Operations(const Contract& contract, const Shape& shape) {
  if (!contract.cost) return Error{ErrorCode::kNotFound, contract.name + " has no [cost]"};
  const ShapeNames names(shape);
  ASSAY_TRY(const double operations, contract.cost->operations.EvaluateNumber(names.names()));
  if (!(operations >= 0))
    return Refuse(fmt::format("\"{}\" gives {:g} operations", contract.cost->operations.text(), operations));
  return operations;
}

Result<double> BytesTouched(const Contract& contract, const Shape& shape) {
  if (contract.cost && contract.cost->bytes) {
    const ShapeNames names(shape);
    ASSAY_TRY(const double bytes, contract.cost->bytes->EvaluateNumber(names.names()));
    if (!(bytes >= 0)) return Refuse(fmt::format("\"{}\" gives {:g} bytes", contract.cost->bytes->text(), bytes));
    return bytes;
  }
  double bytes = 0;
  for (const Tensor& tensor : contract.tensors) {
    if (shape.absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
    const double once = static_cast<double>(ByteSize(layout.dtype, static_cast<size_t>(layout.element_count)));
    bytes += tensor.role == Role::kInOut ? 2 * once : once;
  }
  return bytes;
}

}  // namespace assay
