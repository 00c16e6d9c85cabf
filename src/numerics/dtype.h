// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace assay {

// Element types of tensors and scalars, by the names that contracts use.
enum class DType { kF64, kF32, kBf16, kF16, kE4m3, kE5m2, kI64, kI32, kI8, kU8, kI4 };

struct DTypeInfo {
  DType dtype;
  std::string_view name;    // in contracts: "f32"
  std::string_view c_type;  // in the ABI: "float"
  int bits;                 // per element; i4 is packed two a byte, low nibble first
  bool is_float;
  bool has_nan;
};

inline constexpr std::array<DTypeInfo, 11> kDTypes{{
    {DType::kF64, "f64", "double", 64, true, true},
    {DType::kF32, "f32", "float", 32, true, true},
    {DType::kBf16, "bf16", "uint16_t", 16, true, true},
    {DType::kF16, "f16", "uint16_t", 16, true, true},
    {DType::kE4m3, "e4m3", "uint8_t", 8, true, true},
    {DType::kE5m2, "e5m2", "uint8_t", 8, true, true},
    {DType::kI64, "i64", "int64_t", 64, false, false},
    {DType::kI32, "i32", "int32_t", 32, false, false},
    {DType::kI8, "i8", "int8_t", 8, false, false},
    {DType::kU8, "u8", "uint8_t", 8, false, false},
    {DType::kI4, "i4", "uint8_t", 4, false, false},
}};

constexpr const DTypeInfo& Info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

constexpr std::optional<DType> ParseDType(std::string_view name) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

// Bytes of `elements` densely packed elements.
constexpr size_t ByteSize(DType dtype, size_t elements) {
  return (elements * static_cast<size_t>(Info(dtype).bits) + 7) / 8;
}

}  // namespace assay
