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

// A float format below 32 bits: sign, exponent, mantissa.
struct Small {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;
};

Small FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return {8, 7, 127, true};
    case DType::kF16:
      return {5, 10, 15, true};
    case DType::kE5m2:
      return {5, 2, 15, true};
    default:
      return {4, 3, 7, false};  // e4m3: all ones is NaN, the other codes of that exponent are numbers
  }
}

uint64_t EncodeSmall(const Small& format, double value) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << width : 0;
  const uint64_t all = (uint64_t{1} << width) - 1;
  if (std::isnan(value)) return sign | all;
  const uint64_t infinity = ((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  const uint64_t beyond = format.has_infinity ? infinity : all;
  if (std::isinf(value)) return sign | beyond;
  if (value == 0) return sign;
  const double magnitude = std::abs(value);
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  // One unit in the last place is 2^(exponent - mantissa_bits); nearbyint rounds ties to even.
  const auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  // Units count through the codes: a carry out of the mantissa raises the exponent by itself.
  const uint64_t base = static_cast<uint64_t>(exponent + format.bias - 1) << format.mantissa_bits;
  const uint64_t code = base + units;
  return sign | std::min(code, beyond);
}

double DecodeSmall(const Small& format, uint64_t bits) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const uint64_t code = bits & ((uint64_t{1} << width) - 1);
  const uint64_t mantissa = code & ((uint64_t{1} << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> format.mantissa_bits);
  const int top = (1 << format.exponent_bits) - 1;
  double magnitude = 0;
  if (exponent == top && format.has_infinity) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (code == (uint64_t{1} << width) - 1 && !format.has_infinity) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<double>(mantissa), 1 - format.bias - format.mantissa_bits);
  } else {
    magnitude = std::ldexp(static_cast<double>(mantissa + (uint64_t{1} << format.mantissa_bits)),
                           exponent - format.bias - format.mantissa_bits);
  }
  return (bits >> width & 1) != 0 ? -magnitude : magnitude;
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

int64_t ToInteger(DType dtype, double value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(std::clamp(value, LowestOf(dtype), HighestOf(dtype)));
  // 2^63 as a double is one above the largest int64.
  return rounded >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(rounded);
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
    case DType::kE4m3:
    case DType::kE5m2:
      for (size_t i = 0; i < row.size(); ++i)
        base[offset + static_cast<int64_t>(i)] =
            static_cast<std::byte>(EncodeSmall(FormatOf(dtype), static_cast<double>(row[i])));
      break;
    default:
      for (size_t i = 0; i < row.size(); ++i)
        StoreInteger(dtype, base, offset + static_cast<int64_t>(i), ToInteger(dtype, static_cast<double>(row[i])));
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
  switch (dtype) {
    case DType::kF64:
      return std::bit_cast<uint64_t>(value);
    case DType::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case DType::kBf16:
    case DType::kF16:
    case DType::kE4m3:
    case DType::kE5m2:
      return EncodeSmall(FormatOf(dtype), value);
    default:
      break;
  }
  const auto bits = static_cast<uint64_t>(ToInteger(dtype, value));
  const int width = Info(dtype).bits;
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

double DecodeElement(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kF64:
      return std::bit_cast<double>(bits);
    case DType::kF32:
      return double{std::bit_cast<float>(static_cast<uint32_t>(bits))};
    case DType::kBf16:
    case DType::kF16:
    case DType::kE4m3:
    case DType::kE5m2:
      return DecodeSmall(FormatOf(dtype), bits);
    case DType::kU8:
      return static_cast<double>(bits & 0xFF);
    case DType::kI64:
      return static_cast<double>(static_cast<int64_t>(bits));
    case DType::kI32:
      return static_cast<double>(static_cast<int32_t>(bits));
    case DType::kI8:
      return static_cast<double>(static_cast<int8_t>(bits));
    case DType::kI4:
      return static_cast<double>(static_cast<int8_t>(bits << 4) >> 4);
  }
  return 0;
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
  uint64_t bits = 0;
  if (dtype == DType::kI4) {
    bits = std::to_integer<uint64_t>(bytes[static_cast<size_t>(offset / 2)]) >> (offset % 2 * 4) & 0xF;
  } else {
    const auto size = static_cast<size_t>(Info(dtype).bits / 8);
    std::memcpy(&bits, bytes.data() + static_cast<size_t>(offset) * size, size);
  }
  return DecodeElement(dtype, bits);
}

void StoreElement(DType dtype, std::span<std::byte> bytes, int64_t offset, double value) {
  CheckRoom(dtype, bytes.size(), offset, 1);
  const uint64_t bits = EncodeElement(dtype, value);
  if (dtype == DType::kI4) return StoreInteger(dtype, bytes.data(), offset, static_cast<int64_t>(bits));
  const auto size = static_cast<size_t>(Info(dtype).bits / 8);
  std::memcpy(bytes.data() + static_cast<size_t>(offset) * size, &bits, size);
}

double HighestOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return std::numeric_limits<double>::max();
    case DType::kF32:
      return double{std::numeric_limits<float>::max()};
    case DType::kBf16:
      return 0x1.FEp127;
    case DType::kF16:
      return 65504;
    case DType::kE4m3:
      return 448;
    case DType::kE5m2:
      return 57344;
    case DType::kI64:
      return 0x1p63;
    case DType::kI32:
      return 0x1p31 - 1;
    case DType::kI8:
      return 127;
    case DType::kU8:
      return 255;
    case DType::kI4:
      return 7;
  }
  return 0;
}

double LowestOf(DType dtype) {
  if (Info(dtype).is_float) return -HighestOf(dtype);
  if (dtype == DType::kU8) return 0;
  return dtype == DType::kI64 ? -0x1p63 : -HighestOf(dtype) - 1;
}

}  // namespace assay
