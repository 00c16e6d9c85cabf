// SPDX-License-Identifier: Apache-2.0
#include "contract/regime.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "contract/element.h"
#include "contract/generator.h"
#include "contract/normal_fill.h"
#include "contract/recording.h"
#include "contract/values.h"

namespace assay {
namespace {

template <typename T>
T Narrow(double value, double low, double high) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    const double rounded = std::nearbyint(std::clamp(value, low, high));
    return rounded >= 0x1p63 ? std::numeric_limits<T>::max() : static_cast<T>(rounded);
  }
}

template <typename T>
double Normal(Stream& stream) {
  return stream.Normal();
}

// Standard deviations beyond which no draw goes.
constexpr double kReach = 6.5;

}  // namespace

void FillBase(std::span<float> rows, Stream& stream) { FillNormal(rows, stream); }
void FillBase(std::span<double> rows, Stream& stream) { FillNormal(rows, stream); }

RegimeFiller::RegimeFiller(const Tensor& tensor, const Generator& generator, const ShapeNames& names)
    : kind_(generator.kind),
      dtype_(tensor.dtype),
      recorded_(generator.recorded),
      special_(tensor.special),
      low_(LowestOf(tensor.dtype)),
      high_(HighestOf(tensor.dtype)) {
  Result<std::vector<double>> numbers = GeneratorNumbers(generator, names.names());
  ASSAY_CHECK(numbers.ok());  // the shape is legal
  numbers_ = std::move(numbers).value();
  if (tensor.range.size() == 2) {
    low_ = std::max(low_, tensor.range[0].EvaluateNumber(names.names()).value());
    high_ = std::min(high_, tensor.range[1].EvaluateNumber(names.names()).value());
    // An empty range (indices into nothing) still needs a value.
    high_ = std::max(low_, high_);
  }
  double reach = kReach;
  for (const double number : numbers_) reach = std::max(reach, std::abs(number)) * 8;
  clamp_ = Info(dtype_).is_float && (reach > high_ || kind_ == GeneratorKind::kCaptured);
}

bool RegimeFiller::needs_normal() const {
  if (!Info(dtype_).is_float) return false;
  switch (kind_) {
    case GeneratorKind::kNormal:
    case GeneratorKind::kLadder:
    case GeneratorKind::kOutliers:
    case GeneratorKind::kOffset:
    case GeneratorKind::kTies:
    case GeneratorKind::kSpecial:
      return true;
    default:
      return false;
  }
}

bool RegimeFiller::is_plain_normal() const {
  return needs_normal() && kind_ == GeneratorKind::kNormal && numbers_[0] == 0 && numbers_[1] == 1 && !clamp_;
}

bool RegimeFiller::works_by_row() const {
  switch (kind_) {
    case GeneratorKind::kLadder:
    case GeneratorKind::kTies:
    case GeneratorKind::kSorted:
    case GeneratorKind::kClustered:
    case GeneratorKind::kSpecial:
    case GeneratorKind::kCaptured:
      return true;
    default:
      return false;
  }
}

double RegimeFiller::LogUniformNumber(Stream& stream) const {
  const double low = std::log(numbers_[0]), high = std::log(numbers_[1]);
  return std::clamp(std::exp(low + (high - low) * stream.Unit()), numbers_[0], numbers_[1]);
}

template <typename T>
void RegimeFiller::Scale(std::span<T> row, double factor, double offset) const {
  if constexpr (std::is_floating_point_v<T>) {
    const T by = static_cast<T>(factor), plus = static_cast<T>(offset);
    for (T& value : row) value = value * by + plus;
  }
}

template <typename T>
void RegimeFiller::Uniform(std::span<T> row, Stream& stream) const {
  if constexpr (std::is_floating_point_v<T>) {
    FillUniform(row, stream);
    Scale(row, numbers_[1] - numbers_[0], numbers_[0]);
    // Rounding may reach the upper end and, in a narrow interval, pass it.
    const T low = static_cast<T>(numbers_[0]), high = static_cast<T>(numbers_[1]);
    for (T& value : row) value = std::clamp(value, low, high);
  } else {
    const double from = std::clamp(std::ceil(numbers_[0]), low_, high_),
                 to = std::clamp(std::floor(numbers_[1]), low_, high_);
    const auto first = Narrow<T>(from, low_, high_);
    const uint64_t count =
        to > from ? static_cast<uint64_t>(Narrow<T>(to, low_, high_)) - static_cast<uint64_t>(first) + 1 : 1;
    if constexpr (sizeof(T) == 4) {
      // Multiply and shift: the bias of 2^-32 times the count is far below what anybody can see.
      stream.Fill(std::as_writable_bytes(row));
      for (T& value : row)
        value = static_cast<T>(first +
                               static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(value)) * count >> 32));
    } else {
      for (T& value : row)
        value = static_cast<T>(static_cast<uint64_t>(first) + (count == 0 ? stream.Next() : stream.Below(count)));
    }
  }
}

template <typename T>
void RegimeFiller::LogUniform(std::span<T> row, Stream& stream) const {
  for (T& value : row) value = Narrow<T>(LogUniformNumber(stream), low_, high_);
}

// Jumps from outlier to outlier instead of deciding about each element.
template <typename T>
void RegimeFiller::Outliers(std::span<T> row, Stream& stream) {
  const double share = numbers_[0];
  if (share <= 0) return;
  const T by = static_cast<T>(numbers_[1]);
  const double scale = share >= 1 ? 0 : 1 / std::log1p(-share);
  const auto jump = [&] { return std::min(std::floor(std::log(1 - stream.Unit()) * scale), 0x1p60); };
  if (until_outlier_ < 0) until_outlier_ = jump();
  const auto size = static_cast<double>(row.size());
  while (until_outlier_ < size) {
    row[static_cast<size_t>(until_outlier_)] *= by;
    until_outlier_ += 1 + jump();
  }
  until_outlier_ -= size;
}

template <typename T>
void RegimeFiller::Ties(std::span<T> row, Stream& stream) const {
  if (row.size() < 2) return;
  const auto copies = static_cast<size_t>(std::llround(numbers_[0] * static_cast<double>(row.size())));
  for (size_t i = 0; i < copies; ++i) {
    const size_t to = stream.Below(row.size());
    row[to] = row[stream.Below(row.size())];
  }
}

// The i-th of n ascending draws lies in the i-th of n equal slices of the distribution: sorted by
// construction, in linear time.
template <typename T>
void RegimeFiller::Sorted(std::span<T> row, Stream& stream) const {
  constexpr size_t kBlock = 1024;
  std::array<float, kBlock> block;
  for (size_t begin = 0; begin < row.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, row.size() - begin);
    stream.Fill(std::as_writable_bytes(std::span(block).first(count)));
    for (size_t i = 0; i < count; ++i) {
      const double within = static_cast<double>(std::bit_cast<uint32_t>(block[i])) * 0x1p-32;
      const double rank = (static_cast<double>(begin + i) + within) / static_cast<double>(row.size());
      // The sign bit and the tail, as NormalFromBits reads them; the sign bit means below zero.
      const bool upper = rank >= 0.5;
      const auto tail = static_cast<uint32_t>(std::min((upper ? 1 - rank : rank) * 0x1p32, 2147483647.0));
      block[i] = std::bit_cast<float>(tail | (upper ? 0U : 0x80000000U));
    }
    NormalFromBits(std::span(block).first(count));
    for (size_t i = 0; i < count; ++i) row[begin + i] = static_cast<T>(block[i]);
  }
}

template <typename T>
void RegimeFiller::Clustered(std::span<T> row, Stream& stream) const {
  std::array<T, 8> values;
  const size_t distinct = 2 + stream.Below(values.size() - 1);
  for (T& value : values) value = Narrow<T>(stream.Normal(), low_, high_);
  uint64_t bits = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (i % 8 == 0) bits = stream.Next();
    row[i] = values[(bits & 0xFF) % distinct];
    bits >>= 8;
  }
}

template <typename T>
void RegimeFiller::Subnormal(std::span<T> row, Stream& stream) const {
  if constexpr (std::is_floating_point_v<T>) {
    const double step = SmallestSubnormal(dtype_), codes = SmallestNormal(dtype_) / step;
    for (T& value : row) {
      const uint64_t draw = stream.Next();
      const double magnitude = std::floor(static_cast<double>(draw >> 11) * 0x1p-53 * codes) * step;
      value = static_cast<T>((draw & 1) != 0 ? -magnitude : magnitude);
    }
  } else {
    for (T& value : row) value = Narrow<T>(static_cast<double>(stream.Below(3)) - 1, low_, high_);
  }
}

template <typename T>
void RegimeFiller::Special(std::span<T> row, Stream& stream) const {
  if (row.empty()) return;
  // From one element to all of them: a row full of NaN hides every other case.
  const double size = static_cast<double>(row.size());
  const auto count = static_cast<size_t>(std::clamp(std::exp(std::log(size) * stream.Unit()), 1.0, size));
  for (size_t i = 0; i < count; ++i) {
    T& value = row[stream.Below(row.size())];
    if constexpr (std::is_floating_point_v<T>) {
      const double normal = SmallestNormal(dtype_);
      const std::array<double, 12> cases = {std::numeric_limits<double>::quiet_NaN(),
                                            std::numeric_limits<double>::infinity(),
                                            -std::numeric_limits<double>::infinity(),
                                            0.0,
                                            -0.0,
                                            HighestOf(dtype_),
                                            LowestOf(dtype_),
                                            normal,
                                            -normal,
                                            SmallestSubnormal(dtype_),
                                            -SmallestSubnormal(dtype_),
                                            normal / 2};
      value = static_cast<T>(cases[stream.Below(cases.size())]);
    } else {
      const std::array<double, 4> cases = {low_, high_, 0, -1};
      value = Narrow<T>(cases[stream.Below(cases.size())], low_, high_);
    }
  }
}

template <typename T>
void RegimeFiller::Any(std::span<T> row, Stream& stream) const {
  if constexpr (!std::is_floating_point_v<T>) {
    const Generator whole;
    RegimeFiller uniform = *this;
    uniform.numbers_ = {low_, high_};
    uniform.Uniform(row, stream);
  } else {
    for (T& value : row) {
      double drawn = DecodeElement(dtype_, stream.Next());
      // Few codes are not finite, so this ends soon.
      while (!special_ && !std::isfinite(drawn)) drawn = DecodeElement(dtype_, stream.Next());
      value = static_cast<T>(drawn);
    }
  }
}

// A stretch of a recorded row from a random place, or from the start of one and on into the next where
// the tensor's rows are longer.
template <typename T>
void RegimeFiller::Captured(std::span<T> row, Stream& stream) const {
  ASSAY_CHECK(recorded_ != nullptr && recorded_->row_length > 0);  // a contract without the file is not loaded
  const auto length = static_cast<uint64_t>(recorded_->row_length), all = uint64_t{recorded_->values.size()};
  uint64_t at = stream.Below(all / length) * length;
  if (row.size() < length) at += stream.Below(length - row.size() + 1);
  for (T& value : row) {
    value = Narrow<T>(recorded_->values[at], low_, high_);
    at = at + 1 == all ? 0 : at + 1;
  }
}

template <typename T>
void RegimeFiller::Finish(std::span<T> row, Stream& stream) {
  constexpr bool kFloat = std::is_floating_point_v<T>;
  const auto base = [&](double factor, double offset) {
    if constexpr (kFloat) {
      if (factor != 1 || offset != 0) Scale(row, factor, offset);
    } else {
      for (T& value : row) value = Narrow<T>(stream.Normal() * factor + offset, low_, high_);
    }
  };
  switch (kind_) {
    case GeneratorKind::kNormal:
      base(numbers_[1], numbers_[0]);
      break;
    case GeneratorKind::kUniform:
      Uniform(row, stream);
      break;
    case GeneratorKind::kLogUniform:
      LogUniform(row, stream);
      break;
    case GeneratorKind::kLadder:
      base(LogUniformNumber(stream), 0);
      break;
    case GeneratorKind::kOutliers:
      base(1, 0);
      Outliers(row, stream);
      break;
    case GeneratorKind::kOffset:
      base(1, numbers_[0]);
      break;
    case GeneratorKind::kTies:
      base(1, 0);
      Ties(row, stream);
      break;
    case GeneratorKind::kConstant:
    case GeneratorKind::kExpression:
      std::ranges::fill(row, Narrow<T>(numbers_[0], low_, high_));
      break;
    case GeneratorKind::kSorted:
      Sorted(row, stream);
      break;
    case GeneratorKind::kClustered:
      Clustered(row, stream);
      break;
    case GeneratorKind::kSubnormal:
      Subnormal(row, stream);
      break;
    case GeneratorKind::kSpecial:
      base(1, 0);
      Special(row, stream);
      return;
    case GeneratorKind::kAny:
      Any(row, stream);
      return;
    case GeneratorKind::kCaptured:
      Captured(row, stream);
      break;
  }
  if constexpr (kFloat) {
    const T low = static_cast<T>(low_), high = static_cast<T>(high_);
    if (clamp_) {
      for (T& value : row) value = std::clamp(value, low, high);
    }
  } else {
    const T low = Narrow<T>(low_, low_, high_), high = Narrow<T>(high_, low_, high_);
    for (T& value : row) value = std::clamp(value, low, high);
  }
}

template void RegimeFiller::Finish<float>(std::span<float>, Stream&);
template void RegimeFiller::Finish<double>(std::span<double>, Stream&);
template void RegimeFiller::Finish<int32_t>(std::span<int32_t>, Stream&);
template void RegimeFiller::Finish<int64_t>(std::span<int64_t>, Stream&);

}  // namespace assay
