// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "numerics/assay/formats.h"

namespace assay {

// What the supervisor has to know of a format beyond its numbers.
struct DTypeInfo {
  DType dtype;
  std::string_view name;    // in contracts: "f32"
  std::string_view c_type;  // in the ABI: "float"; empty: no tensor and no scalar has this type
  int bits;                 // per element; i4 and e2m1 are packed two a byte, low nibble first
  bool is_float;
  bool has_nan;
};

namespace internal {

constexpr std::string_view CTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "double";
    case DType::kF32:
      return "float";
    case DType::kBf16:
    case DType::kF16:
      return "uint16_t";
    case DType::kE4m3:
    case DType::kE5m2:
    case DType::kE2m1:
    case DType::kE8m0:
    case DType::kI4:
    case DType::kU8:
      return "uint8_t";
    case DType::kI64:
      return "int64_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI8:
      return "int8_t";
    case DType::kTf32:  // a way to compute; in memory it is f32
    case DType::kI16:
      break;
  }
  return "";
}

}  // namespace internal

inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypes = [] {
  std::array<DTypeInfo, kDTypeCount> infos{};
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const FormatTraits& format = Traits(dtype);
    infos[static_cast<size_t>(i)] = {dtype,       format.name,     internal::CTypeOf(dtype),
                                     format.bits, format.floating, format.nan};
  }
  return infos;
}();

constexpr const DTypeInfo& Info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

// Of the types that tensors have.
constexpr std::optional<DType> ParseDType(std::string_view name) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.name == name && !info.c_type.empty()) return info.dtype;
  }
  return std::nullopt;
}

// Bytes of `elements` densely packed elements.
constexpr size_t ByteSize(DType dtype, size_t elements) {
  return static_cast<size_t>(StorageBytes(dtype, static_cast<int64_t>(elements)));
}

}  // namespace assay
