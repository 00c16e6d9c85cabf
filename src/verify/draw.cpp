// SPDX-License-Identifier: Apache-2.0
#include "verify/draw.h"

#include <algorithm>

#include "contract/values.h"
#include "language/inputs_program.h"

namespace assay {
namespace {

bool IsInput(const Tensor& tensor) { return tensor.role != Role::kOut; }

bool AroundZero(const Tensor& tensor) {
  return IsInput(tensor) && Info(tensor.dtype).is_float && !tensor.values.empty() &&
         tensor.values.front().kind == GeneratorKind::kNormal;
}

// The tensor that is one-hot in this draw: one of those that may be.
size_t DrawOneHotTensor(const Contract& contract, Stream& stream) {
  std::vector<size_t> eligible;
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    if (AroundZero(contract.tensors[t])) eligible.push_back(t);
  }
  return eligible.empty() ? contract.tensors.size() : eligible[stream.Below(eligible.size())];
}

void FillOneHot(const Tensor& tensor, const TensorLayout& layout, std::span<std::byte> out, Stream& stream) {
  const int64_t row = layout.extents.empty() ? 1 : layout.extents.back();
  int64_t hot = 0;
  for (int64_t e = 0; e < layout.element_count; ++e) {
    if (e % row == 0) hot = static_cast<int64_t>(stream.Below(static_cast<uint64_t>(row)));
    StoreElement(tensor.dtype, out, ElementOffset(layout, e), e % row == hot ? 1.0 : 0.0);
  }
}

// Fills one tensor and says which regimes it got.
std::string FillOne(const Tensor& tensor, const TensorLayout& layout, const Shape& shape, Values values, bool one_hot,
                    std::span<std::byte> out, Stream& stream, bool& structured) {
  if (one_hot) {
    // The gaps between strided rows are poison either way; the elements are then overwritten.
    FillTensor(tensor, layout, tensor.values.front(), shape, out, stream);
    FillOneHot(tensor, layout, out, stream);
    structured = true;
    return "one-hot rows";
  }
  if (values == Values::kMixed && tensor.values.size() > 1) {
    const MixReport mix = FillMixed(tensor, layout, shape, out, stream);
    structured = structured || mix.structured;
    return "mixed";
  }
  const size_t regime = values == Values::kPure ? stream.Below(tensor.values.size()) : 0;
  const Generator& generator = tensor.values[regime];
  FillTensor(tensor, layout, generator, shape, out, stream);
  structured = structured || Structured(generator);
  return generator.text;
}

}  // namespace

std::string_view Name(Values values) {
  switch (values) {
    case Values::kFirst:
      return "first regime";
    case Values::kMixed:
      return "mixed regimes";
    case Values::kPure:
      return "one regime a tensor";
    case Values::kOneHot:
      return "one-hot";
  }
  return "";
}

Texture TextureOf(Values values, bool structured) {
  if (!structured) return Texture::kRandom;
  return values == Values::kMixed ? Texture::kMixed : Texture::kStructured;
}

Result<DrawnCall> DrawCall(const Contract& contract, const Shape& shape, Values values, const Seed& seed,
                           const TensorBytes& bytes) {
  DrawnCall drawn;
  Stream scalars(seed.Derive("scalars"));
  drawn.scalars = DrawScalars(contract, shape, scalars, values == Values::kFirst);
  Stream choice(seed.Derive("one-hot"));
  const size_t hot = values == Values::kOneHot ? DrawOneHotTensor(contract, choice) : contract.tensors.size();
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (!IsInput(tensor) || shape.absent_tensors.contains(tensor.name)) continue;
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
    if (layout.element_count == 0) continue;
    if (tensor.from_program()) {
      // Whoever wrote it may have rounded, repeated or ordered.
      drawn.structured = drawn.structured || Info(tensor.dtype).is_float;
      drawn.regimes += (drawn.regimes.empty() ? "" : ", ") + tensor.name + ": " + tensor.from;
      continue;
    }
    Stream stream(seed.Derive("tensor", t));
    const std::string regime = FillOne(tensor, layout, shape, values, t == hot, bytes(t), stream, drawn.structured);
    drawn.regimes += (drawn.regimes.empty() ? "" : ", ") + tensor.name + ": " + regime;
  }
  ASSAY_TRY_STATUS(FillFromProgram(contract, shape, drawn.scalars, bytes, seed));
  return drawn;
}

bool HasOneHot(const Contract& contract) {
  return std::any_of(contract.tensors.begin(), contract.tensors.end(), AroundZero);
}

Status DrawNanCall(const Contract& contract, const Shape& shape, const Seed& seed, const TensorBytes& bytes) {
  for (size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (!IsInput(tensor) || shape.absent_tensors.contains(tensor.name)) continue;
    Stream stream(seed.Derive("nan", t));
    const std::span<std::byte> out = bytes(t);
    if (!Info(tensor.dtype).is_float) {
      ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
      // Integers may be indices: even a call without meaning keeps their range.
      if (layout.element_count > 0 && !tensor.from_program())
        FillTensor(tensor, layout, tensor.values.front(), shape, out, stream);
    } else {
      FillPoison(tensor.dtype, out, stream);
    }
  }
  return Ok();
}

}  // namespace assay
