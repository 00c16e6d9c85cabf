// SPDX-License-Identifier: Apache-2.0
#pragma once

// Block formats: short elements that share a scale.  MX (OCP Microscaling Formats v1.0): 32 elements of
// e4m3, e5m2, e2m1 or int8 and one scale of e8m0.  NV (NVFP4): 16 elements of e2m1, a scale of e4m3,
// and one f32 scale for the whole tensor.  Where the two, and vendors' MX, part: docs/numerics.md 1.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "formats.h"

namespace assay {

inline constexpr size_t kMxBlock = 32;
inline constexpr size_t kNvBlock = 16;

// How the scale of an MX block follows from its largest magnitude.  kFloor (OCP v1.0, 6.3): the power of
// two of that magnitude over that of the largest element; what then exceeds the largest element
// saturates.  kCeil (NVIDIA): the next power of two at which nothing saturates.
enum class MxScaleRule : uint8_t { kFloor, kCeil };

// An int8 element counts in 64ths (OCP v1.0).
inline constexpr double kMxIntegerStep = 0x1p-6;

// Value of an MX element without its scale.
inline double MxElement(DType element, uint64_t code) {
  return DecodeBits(element, code) * (element == DType::kI8 ? kMxIntegerStep : 1.0);
}

// The e8m0 code of a block whose largest magnitude is `largest`.  Infinity and NaN have no scale: the
// code is NaN, and so is then the whole block.  A block of zeros has the smallest scale.
inline uint64_t MxScaleCode(DType element, double largest, MxScaleRule rule) {
  if (!(largest < std::numeric_limits<double>::infinity())) return 0xFF;
  const double top = Traits(element).max * (element == DType::kI8 ? kMxIntegerStep : 1.0);
  if (rule == MxScaleRule::kFloor) {
    const int exponent = largest > 0.0 ? std::ilogb(largest) - std::ilogb(top) : -127;
    return EncodeBits(DType::kE8m0, exponent < -127 ? 0.0 : PowerOfTwo(exponent), Rounding::kDown, Overflow::kSaturate);
  }
  // The quotient is rounded before it is rounded up; that moves it over a power of two only from within
  // half a place of double below it, so the product decides.
  double scale = RoundTo(DType::kE8m0, largest / top, Rounding::kDown, Overflow::kSaturate);
  if (scale * top < largest) scale *= 2.0;
  return EncodeBits(DType::kE8m0, scale, Rounding::kNearestEven, Overflow::kSaturate);
}

// One block (of any length up to the caller's block).  Returns the scale's code; `codes` has room for as
// many elements as `values`.  Dividing by a power of two is exact, so each element is rounded once.
inline uint64_t EncodeMx(DType element, std::span<const double> values, std::span<uint8_t> codes,
                         MxScaleRule rule = MxScaleRule::kFloor, Rounding rounding = Rounding::kNearestEven) {
  double largest = 0.0;
  for (const double v : values)
    largest = std::isnan(v) ? v : std::isnan(largest) ? largest : std::fmax(largest, std::fabs(v));
  const uint64_t scale = MxScaleCode(element, largest, rule);
  const double unit = DecodeBits(DType::kE8m0, scale) * (element == DType::kI8 ? kMxIntegerStep : 1.0);
  for (size_t i = 0; i < values.size(); ++i) {
    const double scaled = scale == 0xFF ? 0.0 : values[i] / unit;
    codes[i] = static_cast<uint8_t>(EncodeBits(element, scaled, rounding, Overflow::kSaturate));
  }
  return scale;
}

// NaN for a whole block whose scale is NaN; elements that are NaN or infinite remain so.
inline double DecodeMx(DType element, uint64_t scale, uint64_t code) {
  return DecodeBits(DType::kE8m0, scale) * MxElement(element, code);
}

namespace internal {

inline constexpr double kE2m1Magnitudes[8] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};

// x / unit as e2m1.  The quotient is not formed, since it would be rounded a second time: unit has 28
// bits at most, so its product with a magnitude or a midpoint of e2m1 is exact.
inline uint64_t NvElementCode(double x, double unit, Rounding rounding) {
  const uint64_t sign = std::signbit(x) ? 8 : 0;
  const double magnitude = std::fabs(x);
  if (!(unit > 0.0)) return sign;
  uint64_t code = 0;
  while (code < 7 && kE2m1Magnitudes[code + 1] * unit <= magnitude) ++code;
  const double below = kE2m1Magnitudes[code] * unit;
  if (code == 7 || magnitude == below) return sign | code;
  const double middle = 0.5 * (kE2m1Magnitudes[code] + kE2m1Magnitudes[code + 1]) * unit;
  bool up = magnitude > middle;
  if (magnitude == middle) up = rounding == Rounding::kNearestAway || (code & 1U) != 0;
  if (rounding == Rounding::kTowardZero) up = false;
  if (rounding == Rounding::kUp) up = sign == 0;
  if (rounding == Rounding::kDown) up = sign != 0;
  return sign | (up ? code + 1 : code);
}

}  // namespace internal

// The f32 scale of a tensor whose largest magnitude is `largest`: the largest block then has the largest
// scale of e4m3.  1 for a tensor of zeros.
inline double NvTensorScale(double largest) {
  if (largest == 0.0) return 1.0;
  const double scale = RoundTo(DType::kF32, largest / (Traits(DType::kE4m3).max * Traits(DType::kE2m1).max));
  return scale > 0.0 ? scale : SmallestSubnormal(DType::kF32);
}

// One block of NVFP4 (of any length up to the caller's block).  Returns the code of its e4m3 scale; NaN
// and infinity have none, as in MX.  A block whose scale underflows is zero.
inline uint64_t EncodeNv(double tensor_scale, std::span<const double> values, std::span<uint8_t> codes,
                         Rounding rounding = Rounding::kNearestEven) {
  double largest = 0.0;
  for (const double v : values)
    largest = std::isnan(v) ? v : std::isnan(largest) ? largest : std::fmax(largest, std::fabs(v));
  const bool finite = largest < std::numeric_limits<double>::infinity();
  const double wanted = largest / Traits(DType::kE2m1).max / tensor_scale;
  const uint64_t scale = EncodeBits(DType::kE4m3, finite ? wanted : std::numeric_limits<double>::quiet_NaN(),
                                    Rounding::kNearestEven, Overflow::kSaturate);
  const double unit = finite ? DecodeBits(DType::kE4m3, scale) * tensor_scale : 0.0;
  for (size_t i = 0; i < values.size(); ++i)
    codes[i] = static_cast<uint8_t>(internal::NvElementCode(values[i], unit, rounding));
  return scale;
}

inline double DecodeNv(double tensor_scale, uint64_t scale, uint64_t code) {
  return DecodeBits(DType::kE4m3, scale) * tensor_scale * DecodeBits(DType::kE2m1, code);
}

}  // namespace assay
