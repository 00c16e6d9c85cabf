// SPDX-License-Identifier: Apache-2.0
#include "contract/element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "contract/values.h"

namespace assay {
namespace {

// Random bits keep the sign of a NaN, which conversions of numbers drop; e8m0 and integers have none.
uint64_t NanSign(DType dtype) {
  return Traits(dtype).nan && dtype != DType::kE8m0 ? uint64_t{1} << (Traits(dtype).bits - 1) : 0;
}

uint16_t Bf16FromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>(bits >> 16 | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

// Adding and subtracting a number whose last place is that of the result lets the adder do the rounding.
uint16_t F16FromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude >= 0x47800000U) return static_cast<uint16_t>(sign | (magnitude > 0x7F800000U ? 0x7FFFU : 0x7C00U));
  if (magnitude < 0x38800000U) {
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t rounded = magnitude - (uint32_t{112} << 23) + 0xFFFU + (magnitude >> 13 & 1U);
  return static_cast<uint16_t>(sign | rounded >> 13);
}

void StoreInteger(DType dtype, std::byte* base, int64_t offset, int64_t value) {
  switch (dtype) {
    case DType::kI64:
      std::memcpy(base + offset * 8, &value, 8);
      break;
    case DType::kI32: {
      const auto narrow = static_cast<int32_t>(value);
      std::memcpy(base + offset * 4, &narrow, 4);
      break;
    }
    case DType::kI4: {
      std::byte& both = base[offset / 2];
      const auto nibble = static_cast<std::byte>(value & 0xF);
      both = offset % 2 == 0 ? (both & std::byte{0xF0}) | nibble : (both & std::byte{0x0F}) | nibble << 4;
      break;
    }
    default:
      base[offset] = static_cast<std::byte>(value & 0xFF);
      break;
  }
}

template <typename T>
void StoreFloats(DType dtype, std::byte* base, int64_t offset, std::span<const T> row) {
  const auto store16 = [&](auto encode) {
    std::byte* out = base + offset * 2;
    for (size_t i = 0; i < row.size(); ++i) {
      const uint16_t code = encode(static_cast<float>(row[i]));
      std::memcpy(out + 2 * i, &code, 2);
    }
  };
  switch (dtype) {
    case DType::kF64:
      for (size_t i = 0; i < row.size(); ++i) {
        const auto value = static_cast<double>(row[i]);
        std::memcpy(base + (offset + static_cast<int64_t>(i)) * 8, &value, 8);
      }
      break;
    case DType::kF32:
      for (size_t i = 0; i < row.size(); ++i) {
        const auto value = static_cast<float>(row[i]);
        std::memcpy(base + (offset + static_cast<int64_t>(i)) * 4, &value, 4);
      }
      break;
    case DType::kBf16:
      store16(Bf16FromFloat);
      break;
    case DType::kF16:
      store16(F16FromFloat);
      break;
    default:
      for (size_t i = 0; i < row.size(); ++i)
        StoreBits(dtype, base, offset + static_cast<int64_t>(i), EncodeElement(dtype, static_cast<double>(row[i])));
  }
}

template <typename T>
void StoreIntegers(DType dtype, std::byte* base, int64_t offset, std::span<const T> row) {
  if (dtype == DType::kI8 || dtype == DType::kU8) {
    for (size_t i = 0; i < row.size(); ++i)
      base[offset + static_cast<int64_t>(i)] = static_cast<std::byte>(row[i] & 0xFF);
    return;
  }
  for (size_t i = 0; i < row.size(); ++i) StoreInteger(dtype, base, offset + static_cast<int64_t>(i), row[i]);
}

void CheckRoom(DType dtype, size_t bytes, int64_t offset, size_t count) {
  ASSAY_CHECK(offset >= 0 && ByteSize(dtype, static_cast<size_t>(offset) + count) <= bytes);
}

}  // namespace

uint64_t EncodeElement(DType dtype, double value) {
  const uint64_t bits = EncodeBits(dtype, value);
  return std::isnan(value) && std::signbit(value) ? bits | NanSign(dtype) : bits;
}

double DecodeElement(DType dtype, uint64_t bits) {
  const double value = DecodeBits(dtype, bits);
  return std::isnan(value) && (bits & NanSign(dtype)) != 0 ? std::copysign(value, -1.0) : value;
}

void StoreRow(DType dtype, std::span<std::byte> bytes, int64_t offset, std::span<const float> row) {
  CheckRoom(dtype, bytes.size(), offset, row.size());
  StoreFloats(dtype, bytes.data(), offset, row);
}

void StoreRow(DType dtype, std::span<std::byte> bytes, int64_t offset, std::span<const double> row) {
  CheckRoom(dtype, bytes.size(), offset, row.size());
  StoreFloats(dtype, bytes.data(), offset, row);
}

void StoreRow(DType dtype, std::span<std::byte> bytes, int64_t offset, std::span<const int32_t> row) {
  CheckRoom(dtype, bytes.size(), offset, row.size());
  StoreIntegers(dtype, bytes.data(), offset, row);
}

void StoreRow(DType dtype, std::span<std::byte> bytes, int64_t offset, std::span<const int64_t> row) {
  CheckRoom(dtype, bytes.size(), offset, row.size());
  StoreIntegers(dtype, bytes.data(), offset, row);
}

double LoadElement(DType dtype, std::span<const std::byte> bytes, int64_t offset) {
  CheckRoom(dtype, bytes.size(), offset, 1);
  return LoadElement(dtype, bytes.data(), offset);
}

void StoreElement(DType dtype, std::span<std::byte> bytes, int64_t offset, double value) {
  CheckRoom(dtype, bytes.size(), offset, 1);
  StoreBits(dtype, bytes.data(), offset, EncodeElement(dtype, value));
}

double HighestOf(DType dtype) { return Traits(dtype).max; }
double LowestOf(DType dtype) { return Traits(dtype).lowest; }

}  // namespace assay
