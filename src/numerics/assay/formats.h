// SPDX-License-Identifier: Apache-2.0
#pragma once

// The number formats that tensors are stored in and that kernels compute in, and the conversions
// between them.  Self-contained, so that the oracle (with only the standard library) and the
// supervisor read bytes the same way.  What each format does at its edges: docs/numerics.md 1.

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace assay {

enum class DType : uint8_t {
  kF64,
  kF32,
  kTf32,
  kBf16,
  kF16,
  kE4m3,
  kE5m2,
  kE2m1,
  kE8m0,
  kI64,
  kI32,
  kI16,
  kI8,
  kI4,
  kU8,
};
inline constexpr int kDTypeCount = 15;

// What a conversion does with a value that rounds beyond the largest finite one.  kSpecial: infinity
// where the format has one, else NaN where it has one, else the largest finite value.
enum class Overflow : uint8_t { kSpecial, kSaturate };

// The directions of IEEE 754-2019, 4.3.  kNearestAway takes ties away from zero.
enum class Rounding : uint8_t { kNearestEven, kNearestAway, kTowardZero, kUp, kDown };
inline constexpr int kRoundingCount = 5;

struct FormatTraits {
  std::string_view name;
  int bits;  // in memory; tf32 lives in 32
  bool floating;
  int precision;     // significant bits with the hidden one: u = 2^-precision
  int min_exponent;  // of the smallest normal number
  double max;        // largest finite
  double lowest;     // most negative finite; e8m0: the smallest
  bool infinity;
  bool nan;
};

// e4m3 is the OCP form without infinity, e5m2 the one with; e2m1 has neither infinity nor NaN.  e8m0,
// the scale of a block, is a bare exponent: no sign, no zero, no significand.
inline constexpr FormatTraits kFormats[kDTypeCount] = {
    {"f64", 64, true, 53, -1022, DBL_MAX, -DBL_MAX, true, true},
    {"f32", 32, true, 24, -126, FLT_MAX, -FLT_MAX, true, true},
    {"tf32", 32, true, 11, -126, 0x1.FFCp127, -0x1.FFCp127, true, true},
    {"bf16", 16, true, 8, -126, 0x1.FEp127, -0x1.FEp127, true, true},
    {"f16", 16, true, 11, -14, 65504.0, -65504.0, true, true},
    {"e4m3", 8, true, 4, -6, 448.0, -448.0, false, true},
    {"e5m2", 8, true, 3, -14, 57344.0, -57344.0, true, true},
    {"e2m1", 4, true, 2, 0, 6.0, -6.0, false, false},
    {"e8m0", 8, true, 1, -127, 0x1p127, 0x1p-127, false, true},
    {"i64", 64, false, 63, 0, 0x1p63, -0x1p63, false, false},
    {"i32", 32, false, 31, 0, 2147483647.0, -2147483648.0, false, false},
    {"i16", 16, false, 15, 0, 32767.0, -32768.0, false, false},
    {"i8", 8, false, 7, 0, 127.0, -128.0, false, false},
    {"i4", 4, false, 3, 0, 7.0, -8.0, false, false},
    {"u8", 8, false, 8, 0, 255.0, 0.0, false, false},
};

constexpr const FormatTraits& Traits(DType type) { return kFormats[static_cast<int>(type)]; }
constexpr std::string_view DTypeName(DType type) { return Traits(type).name; }
constexpr bool IsFloating(DType type) { return Traits(type).floating; }

constexpr bool DTypeFromName(std::string_view name, DType& type) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kFormats[i].name == name) {
      type = static_cast<DType>(i);
      return true;
    }
  }
  return false;
}

// Bytes that `count` densely packed elements take; types of four bits share a byte, low nibble first.
constexpr int64_t StorageBytes(DType type, int64_t count) {
  return Traits(type).bits >= 8 ? count * (Traits(type).bits / 8) : (count + 1) / 2;
}

// 2^exponent, exact, for every exponent that a double can hold; zero below.
constexpr double PowerOfTwo(int exponent) {
  if (exponent >= -1022) return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
  return exponent >= -1074 ? std::bit_cast<double>(uint64_t{1} << (exponent + 1074)) : 0.0;
}

constexpr double UnitRoundoff(DType type) { return PowerOfTwo(-Traits(type).precision); }
constexpr double SmallestNormal(DType type) { return PowerOfTwo(Traits(type).min_exponent); }
constexpr double SmallestSubnormal(DType type) {
  return IsFloating(type) ? PowerOfTwo(Traits(type).min_exponent - Traits(type).precision + 1) : 1.0;
}

// Distance between neighbouring values of the format around x: its unit in the last place.
inline double StepAt(DType type, double x) {
  const FormatTraits& format = Traits(type);
  if (!format.floating) return 1.0;
  const double magnitude = std::fabs(x);
  if (!(magnitude <= format.max)) return std::numeric_limits<double>::infinity();
  int exponent = format.min_exponent;
  if (magnitude >= SmallestNormal(type)) exponent = std::ilogb(magnitude);
  return PowerOfTwo(exponent - format.precision + 1);
}

namespace internal {

inline double RoundWhole(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven:
      return std::nearbyint(x);
    case Rounding::kNearestAway:
      return std::round(x);
    case Rounding::kTowardZero:
      return std::trunc(x);
    case Rounding::kUp:
      return std::ceil(x);
    case Rounding::kDown:
      return std::floor(x);
  }
  return x;
}

// Whether a direction brings a value beyond the largest finite one back to it (IEEE 754-2019, 7.4).
inline bool RoundsInward(double x, Rounding rounding) {
  return rounding == Rounding::kTowardZero || (rounding == Rounding::kUp && x < 0.0) ||
         (rounding == Rounding::kDown && x > 0.0);
}

inline double OverflowValue(const FormatTraits& format, double x, Overflow overflow) {
  if (overflow == Overflow::kSpecial && format.infinity) {
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  }
  if (overflow == Overflow::kSpecial && format.nan) return std::numeric_limits<double>::quiet_NaN();
  return std::copysign(format.max, x);
}

inline double WithoutNan(const FormatTraits& format) { return format.floating ? format.max : 0.0; }

// `whole`: how a number in units of the last place becomes a whole one; `inward`: whether it also
// brings back what lies beyond the largest value.
template <class Whole>
double RoundWith(DType type, double x, const Whole& whole, bool inward, Overflow overflow) {
  const FormatTraits& format = Traits(type);
  if (std::isnan(x)) return format.nan ? x : WithoutNan(format);
  if (!format.floating) {
    const double rounded = std::isinf(x) ? x : whole(x);
    if (rounded >= format.max) return format.max;
    // No integer has a negative zero.
    return rounded <= format.lowest ? format.lowest : rounded + 0.0;
  }
  if (type == DType::kE8m0) x = std::fabs(x);
  if (std::isinf(x)) return OverflowValue(format, x, overflow);
  if (type == DType::kF64) return x;
  if (x == 0.0) return type == DType::kE8m0 ? format.lowest : x;
  int exponent = std::ilogb(x);
  if (exponent < format.min_exponent) exponent = format.min_exponent;
  const int quantum = exponent - format.precision + 1;
  // Multiplying by a power of two is exact here: the quantum of every format but f64 lies far inside
  // the range of double.
  const double rounded = whole(x * PowerOfTwo(-quantum)) * PowerOfTwo(quantum);
  if (type == DType::kE8m0 && rounded == 0.0) return format.lowest;
  if (std::fabs(rounded) <= format.max) return std::copysign(rounded, x);
  return inward ? std::copysign(format.max, x) : OverflowValue(format, x, overflow);
}

}  // namespace internal

// The value of the format that the direction asks for, subnormals included, from a double and so with
// one rounding.  Written over arithmetic alone, not over bit patterns, so that one function serves all
// formats.  NaN: NaN where the format has one, 0 for integers, else the largest value.  Integers
// saturate whatever `overflow` says.  e8m0 takes the magnitude, and its smallest value for what is less.
inline double RoundTo(DType type, double x, Rounding rounding = Rounding::kNearestEven,
                      Overflow overflow = Overflow::kSpecial) {
  if (type == DType::kF32 && rounding == Rounding::kNearestEven && overflow == Overflow::kSpecial) {
    return static_cast<double>(static_cast<float>(x));
  }
  // Without a sign the two directed modes are those of the magnitude.
  const bool inward = internal::RoundsInward(type == DType::kE8m0 ? std::fabs(x) : x, rounding);
  return internal::RoundWith(
      type, x, [rounding](double units) { return internal::RoundWhole(units, rounding); }, inward, overflow);
}

// Stochastic rounding: away from zero with the probability that the discarded part is of a unit in the
// last place, cut to `bits` bits (1 to 53), as hardware that adds so many random bits below the last
// place and drops the carry-out's tail.  `random` holds them in its low bits.
inline double RoundStochastically(DType type, double x, uint64_t random, int bits = 32,
                                  Overflow overflow = Overflow::kSpecial) {
  const auto whole = [random, bits](double units) {
    const double below = std::trunc(units);
    const auto part = static_cast<uint64_t>(std::fabs(units - below) * PowerOfTwo(bits));
    const uint64_t draw = random & ((uint64_t{1} << bits) - 1);
    return part + draw >= uint64_t{1} << bits ? below + std::copysign(1.0, units) : below;
  };
  return internal::RoundWith(type, x, whole, false, overflow);
}

inline bool Representable(DType type, double x) { return std::isnan(x) ? Traits(type).nan : RoundTo(type, x) == x; }

// Value of a bit pattern of the format, in the low bits of `pattern`.  Of tf32 the lowest 13 of the 32
// bits are no part.
inline double DecodeBits(DType type, uint64_t pattern) {
  const FormatTraits& format = Traits(type);
  if (type == DType::kF64) return std::bit_cast<double>(pattern);
  if (type == DType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(pattern));
  if (type == DType::kTf32) return std::bit_cast<float>(static_cast<uint32_t>(pattern) & ~0x1FFFU);
  if (type == DType::kE8m0) {
    const int field = static_cast<int>(pattern & 0xFFU);
    return field == 0xFF ? std::numeric_limits<double>::quiet_NaN() : PowerOfTwo(field - 127);
  }
  if (!format.floating) {
    if (type == DType::kU8) return static_cast<double>(pattern & 0xFFU);
    const int shift = 64 - format.bits;
    return static_cast<double>(static_cast<int64_t>(pattern << shift) >> shift);
  }
  const int mantissa_bits = format.precision - 1;
  const int exponent_bits = format.bits - 1 - mantissa_bits;
  const uint64_t mantissa = pattern & ((uint64_t{1} << mantissa_bits) - 1);
  const uint64_t top = (uint64_t{1} << exponent_bits) - 1;
  const uint64_t exponent = (pattern >> mantissa_bits) & top;
  const double sign = ((pattern >> (format.bits - 1)) & 1U) != 0 ? -1.0 : 1.0;
  if (format.infinity && exponent == top) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (format.nan && !format.infinity && exponent == top && mantissa == (uint64_t{1} << mantissa_bits) - 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double smallest = SmallestSubnormal(type);
  if (exponent == 0) return sign * static_cast<double>(mantissa) * smallest;
  return sign * static_cast<double>((uint64_t{1} << mantissa_bits) + mantissa) * smallest *
         PowerOfTwo(static_cast<int>(exponent) - 1);
}

// The pattern, in the low bits, of a value that the format has.  NaN becomes the quiet NaN with a clear
// sign.
inline uint64_t BitsOf(DType type, double value) {
  const FormatTraits& format = Traits(type);
  if (type == DType::kF64) return std::bit_cast<uint64_t>(value);
  if (type == DType::kF32 || type == DType::kTf32) {
    if (std::isnan(value)) return 0x7FC00000U;
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  if (type == DType::kE8m0) return std::isnan(value) ? 0xFFU : static_cast<uint64_t>(std::ilogb(value) + 127);
  if (!format.floating) {
    const int64_t whole = value >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(value);
    const uint64_t mask = format.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << format.bits) - 1;
    return static_cast<uint64_t>(whole) & mask;
  }
  const int mantissa_bits = format.precision - 1;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (format.bits - 1) : 0;
  const uint64_t top = (uint64_t{1} << (format.bits - 1 - mantissa_bits)) - 1;
  if (std::isnan(value)) {
    const uint64_t quiet = format.infinity ? uint64_t{1} << (mantissa_bits - 1) : (uint64_t{1} << mantissa_bits) - 1;
    return (top << mantissa_bits) | quiet;
  }
  if (std::isinf(value)) return sign | (top << mantissa_bits);
  const double magnitude = std::fabs(value);
  if (magnitude < SmallestNormal(type)) {
    return sign | static_cast<uint64_t>(magnitude / SmallestSubnormal(type));
  }
  const int exponent = std::ilogb(magnitude);
  const uint64_t significand = static_cast<uint64_t>(magnitude * PowerOfTwo(mantissa_bits - exponent));
  const uint64_t field = static_cast<uint64_t>(exponent - format.min_exponent + 1);
  return sign | (field << mantissa_bits) | (significand & ((uint64_t{1} << mantissa_bits) - 1));
}

// Rounds and encodes.
inline uint64_t EncodeBits(DType type, double x, Rounding rounding = Rounding::kNearestEven,
                           Overflow overflow = Overflow::kSpecial) {
  return BitsOf(type, RoundTo(type, x, rounding, overflow));
}

namespace internal {

template <class T>
T ReadAs(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace internal

// Bit pattern of element `index` of densely packed memory.
inline uint64_t LoadBits(DType type, const std::byte* data, int64_t index) {
  switch (Traits(type).bits) {
    case 64:
      return internal::ReadAs<uint64_t>(data, index);
    case 32:
      return internal::ReadAs<uint32_t>(data, index);
    case 16:
      return internal::ReadAs<uint16_t>(data, index);
    case 8:
      return internal::ReadAs<uint8_t>(data, index);
    default:
      return (internal::ReadAs<uint8_t>(data, index >> 1) >> (4 * (index & 1))) & 0xFU;
  }
}

inline double LoadElement(DType type, const std::byte* data, int64_t index) {
  switch (type) {
    case DType::kF32:
      return internal::ReadAs<float>(data, index);
    case DType::kF64:
      return internal::ReadAs<double>(data, index);
    case DType::kI8:
      return internal::ReadAs<int8_t>(data, index);
    case DType::kI32:
      return internal::ReadAs<int32_t>(data, index);
    default:
      return DecodeBits(type, LoadBits(type, data, index));
  }
}

// An integer element without the detour through double, which would lose bits of an i64.
inline int64_t LoadInteger(DType type, const std::byte* data, int64_t index) {
  if (type == DType::kI64) return internal::ReadAs<int64_t>(data, index);
  return static_cast<int64_t>(LoadElement(type, data, index));
}

inline void StoreBits(DType type, std::byte* data, int64_t index, uint64_t pattern) {
  const int bits = Traits(type).bits;
  if (bits >= 8) {
    // Little endian: the low bytes of the pattern are the element.
    std::memcpy(data + index * (bits / 8), &pattern, static_cast<size_t>(bits / 8));
    return;
  }
  const int shift = static_cast<int>(4 * (index & 1));
  const auto old = static_cast<unsigned>(data[index >> 1]);
  data[index >> 1] =
      static_cast<std::byte>((old & ~(0xFU << shift)) | ((static_cast<unsigned>(pattern) & 0xFU) << shift));
}

inline void StoreElement(DType type, std::byte* data, int64_t index, double value,
                         Rounding rounding = Rounding::kNearestEven, Overflow overflow = Overflow::kSpecial) {
  StoreBits(type, data, index, EncodeBits(type, value, rounding, overflow));
}

}  // namespace assay
