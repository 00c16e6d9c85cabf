// SPDX-License-Identifier: Apache-2.0
#include "contract/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "contract/element.h"
#include "contract/generator.h"
#include "contract/regime.h"

namespace assay {
namespace {

// Elements that are made at once: their rows stay in the first cache until they are stored.
constexpr int64_t kChunk = 4096;

// The rows of a tensor as generators see them.  A vector has no rows of its own and a tensor with a
// single long row would have one regime, so a mixture cuts both into stretches.
struct Rows {
  int64_t length = 1;
  int64_t count = 0;
  int64_t total = 0;  // elements; the last row may be short

  int64_t LengthOf(int64_t row) const { return std::min(length, total - row * length); }
};

Rows RowsOf(const TensorLayout& layout) {
  Rows rows;
  rows.total = layout.element_count;
  rows.length = layout.extents.empty() ? 1 : std::max<int64_t>(layout.extents.back(), 1);
  rows.count = (rows.total + rows.length - 1) / rows.length;
  return rows;
}

// Writes finished elements to their places.
class Writer {
 public:
  Writer(const TensorLayout& layout, std::span<std::byte> out) : layout_(layout), out_(out) {}

  // Where the elements can be made in place; null when they cannot.
  template <typename T>
  T* Direct(int64_t element) {
    const bool same = (std::is_same_v<T, float> && layout_.dtype == DType::kF32) ||
                      (std::is_same_v<T, double> && layout_.dtype == DType::kF64) ||
                      (std::is_same_v<T, int32_t> && layout_.dtype == DType::kI32) ||
                      (std::is_same_v<T, int64_t> && layout_.dtype == DType::kI64);
    const bool aligned = reinterpret_cast<uintptr_t>(out_.data()) % alignof(T) == 0;
    return same && aligned && !layout_.padded ? reinterpret_cast<T*>(out_.data()) + element : nullptr;
  }

  template <typename T>
  void Store(int64_t element, std::span<const T> values) {
    if (!layout_.padded) return StoreRow(layout_.dtype, out_, element, values);
    const int64_t last = layout_.extents.back(), stride = layout_.strides.back();
    while (!values.empty()) {
      const int64_t within = element % last;
      const std::span<const T> part =
          values.first(static_cast<size_t>(std::min<int64_t>(last - within, static_cast<int64_t>(values.size()))));
      const int64_t offset = ElementOffset(layout_, element);
      if (stride == 1) {
        StoreRow(layout_.dtype, out_, offset, part);
      } else {
        for (size_t i = 0; i < part.size(); ++i)
          StoreRow(layout_.dtype, out_, offset + static_cast<int64_t>(i) * stride, part.subspan(i, 1));
      }
      values = values.subspan(part.size());
      element += static_cast<int64_t>(part.size());
    }
  }

 private:
  const TensorLayout& layout_;
  std::span<std::byte> out_;
};

// `regime_of` maps a row to a position in `regimes`.
template <typename T, typename RegimeOf>
void FillRows(const Rows& rows, std::vector<RegimeFiller>& regimes, const RegimeOf& regime_of, Writer& writer,
              Stream& stream) {
  std::vector<T> buffer;
  const int64_t rows_at_once = std::max<int64_t>(1, kChunk / rows.length);
  for (int64_t row = 0; row < rows.count; row += rows_at_once) {
    const int64_t end = std::min(rows.count, row + rows_at_once);
    const int64_t first = row * rows.length, count = std::min(end * rows.length, rows.total) - first;
    T* direct = writer.Direct<T>(first);
    if (direct == nullptr) buffer.resize(static_cast<size_t>(count));
    const std::span<T> chunk(direct == nullptr ? buffer.data() : direct, static_cast<size_t>(count));
    bool normal = false;
    for (int64_t r = row; r < end && !normal; ++r) normal = regimes[regime_of(r)].needs_normal();
    if (normal) FillBase(chunk, stream);
    for (int64_t r = row; r < end;) {
      RegimeFiller& regime = regimes[regime_of(r)];
      // Rows that need not be told apart are finished together.
      int64_t next = r + 1;
      while (!regime.works_by_row() && next < end && &regimes[regime_of(next)] == &regime) ++next;
      const int64_t begin = r * rows.length - first, stop = std::min(next * rows.length, rows.total) - first;
      if (!regime.is_plain_normal())
        regime.Finish(chunk.subspan(static_cast<size_t>(begin), static_cast<size_t>(stop - begin)), stream);
      r = next;
    }
    if (direct == nullptr) writer.Store(first, std::span<const T>(chunk));
  }
}

// Which regime each row of a mixture has.
class Mixture {
 public:
  Mixture(const TensorLayout& layout, size_t regimes, Stream& stream) : rows_(RowsOf(layout)) {
    // Extreme values along one dimension only (a head, a batch entry, a row here and there), so that
    // most calls keep slices that no extreme value reaches.
    std::vector<std::pair<int64_t, int64_t>> dimensions;  // extent, rows per index
    int64_t inner = 1;
    for (size_t d = layout.extents.size(); d-- > 0;) {
      if (d + 1 == layout.extents.size()) continue;
      if (layout.extents[d] > 1) dimensions.emplace_back(layout.extents[d], inner);
      inner *= layout.extents[d];
    }
    if (rows_.count <= 1 && rows_.total > 1) {
      rows_.length = std::max<int64_t>(1, rows_.total / static_cast<int64_t>(2 + stream.Below(15)));
      rows_.count = (rows_.total + rows_.length - 1) / rows_.length;
    }
    dimensions.emplace_back(std::max<int64_t>(rows_.count, 1), 1);  // every row for itself
    const auto [extent, rows_per_index] = dimensions[stream.Below(dimensions.size())];
    rows_per_index_ = rows_per_index;
    Assign(static_cast<size_t>(extent), regimes, stream);
  }

  const Rows& rows() const { return rows_; }
  size_t operator()(int64_t row) const {
    return of_[static_cast<size_t>(row / rows_per_index_ % static_cast<int64_t>(of_.size()))];
  }

 private:
  void Assign(size_t extent, size_t regimes, Stream& stream) {
    of_.assign(extent, 0);
    if (regimes < 2) return;
    const double share = stream.Unit();
    for (uint8_t& regime : of_) {
      if (stream.Unit() < share) regime = static_cast<uint8_t>(1 + stream.Below(regimes - 1));
    }
    // At least one row differs, or the call would not be a mixture.
    const bool pure = std::ranges::all_of(of_, [](uint8_t regime) { return regime == 0; });
    if (pure && extent > 1) of_[stream.Below(extent)] = static_cast<uint8_t>(1 + stream.Below(regimes - 1));
  }

  Rows rows_;
  int64_t rows_per_index_ = 1;
  std::vector<uint8_t> of_;
};

template <typename RegimeOf>
void Fill(const Tensor& tensor, const TensorLayout& layout, const Rows& rows, std::span<const Generator> generators,
          const RegimeOf& regime_of, const Shape& shape, std::span<std::byte> out, Stream& stream) {
  ASSAY_CHECK(static_cast<int64_t>(out.size()) >= layout.byte_span);
  out = out.first(static_cast<size_t>(layout.byte_span));
  if (layout.padded) FillPoison(layout.dtype, out, stream);
  const ShapeNames names(shape);
  std::vector<RegimeFiller> regimes;
  for (const Generator& generator : generators) regimes.emplace_back(tensor, generator, names);
  Writer writer(layout, out);
  WithRowType(layout.dtype, [&]<typename T>(T) { FillRows<T>(rows, regimes, regime_of, writer, stream); });
}

}  // namespace

namespace {

// Values that differ by less than this share of themselves are nearly equal, and so are their sums' steps
// (docs/numerics.md, c(K)).
constexpr double kNearlyEqual = 1.0 / 128;

bool NearlyEqual(double mean, double deviation) { return !(deviation > kNearlyEqual * std::abs(mean)); }

// Numbers that are expressions over axes are not known here; then the wider bound is the safe one.
bool NearlyEqual(const Generator& generator) {
  const Result<std::vector<double>> numbers = GeneratorNumbers(generator, [](std::string_view) { return nullptr; });
  if (!numbers.ok()) return true;
  const std::vector<double>& n = numbers.value();
  if (generator.kind == GeneratorKind::kOffset) return NearlyEqual(n[0], 1);
  if (generator.kind == GeneratorKind::kNormal) return NearlyEqual(n[0], n[1]);
  return NearlyEqual((n[0] + n[1]) / 2, (n[1] - n[0]) / std::sqrt(12.0));
}

}  // namespace

bool Structured(const Generator& generator) {
  switch (generator.kind) {
    case GeneratorKind::kOffset:
    case GeneratorKind::kNormal:
    case GeneratorKind::kUniform:
      return NearlyEqual(generator);
    case GeneratorKind::kConstant:
    case GeneratorKind::kSorted:
    case GeneratorKind::kTies:
    case GeneratorKind::kClustered:
    case GeneratorKind::kCaptured:  // a model's values may be rounded, repeated or ordered
    case GeneratorKind::kExpression:
      return true;
    default:
      return false;
  }
}

std::string RegimeDraw::Describe(const Contract& contract) const {
  std::string text;
  const auto add = [&](const std::string& name, const std::vector<Generator>& values) {
    const auto found = of.find(name);
    if (found == of.end() || found->second >= values.size()) return;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, values[found->second].text);
  };
  for (const Tensor& tensor : contract.tensors) add(tensor.name, tensor.values);
  for (const Scalar& scalar : contract.scalars) add(scalar.name, scalar.values);
  return text;
}

RegimeDraw FirstRegimes(const Contract& contract) {
  RegimeDraw draw;
  for (const Tensor& tensor : contract.tensors) {
    if (!tensor.values.empty()) draw.of[tensor.name] = 0;
  }
  for (const Scalar& scalar : contract.scalars) {
    if (!scalar.values.empty()) draw.of[scalar.name] = 0;
  }
  return draw;
}

RegimeDraw DrawRegimes(const Contract& contract, Stream& stream) {
  RegimeDraw draw;
  for (const Tensor& tensor : contract.tensors) {
    if (!tensor.values.empty()) draw.of[tensor.name] = stream.Below(tensor.values.size());
  }
  for (const Scalar& scalar : contract.scalars) {
    if (!scalar.values.empty()) draw.of[scalar.name] = stream.Below(scalar.values.size());
  }
  return draw;
}

size_t PureRegime(const Tensor& tensor, int regime) { return static_cast<size_t>(regime) % tensor.values.size(); }

std::vector<std::string> PureRegimes(const Contract& contract) {
  size_t most = 0;
  for (const Tensor& tensor : contract.tensors) most = std::max(most, tensor.values.size());
  if (most < 2) return {};
  std::vector<std::string> names;
  for (size_t regime = 0; regime < most; ++regime) {
    RegimeDraw draw;
    for (const Tensor& tensor : contract.tensors) {
      if (tensor.values.size() > 1) draw.of[tensor.name] = PureRegime(tensor, static_cast<int>(regime));
    }
    names.push_back(draw.Describe(contract));
  }
  return names;
}

void FillTensor(const Tensor& tensor, const TensorLayout& layout, const Generator& generator, const Shape& shape,
                std::span<std::byte> out, Stream& stream) {
  const auto only = [](int64_t) { return size_t{0}; };
  Fill(tensor, layout, RowsOf(layout), std::span(&generator, 1), only, shape, out, stream);
}

MixReport FillMixed(const Tensor& tensor, const TensorLayout& layout, const Shape& shape, std::span<std::byte> out,
                    Stream& stream) {
  ASSAY_CHECK(!tensor.values.empty() && tensor.values.size() <= 256);
  const Mixture mixture(layout, tensor.values.size(), stream);
  Fill(tensor, layout, mixture.rows(), tensor.values, mixture, shape, out, stream);
  MixReport report;
  report.elements_by_regime.resize(tensor.values.size());
  for (int64_t row = 0; row < mixture.rows().count; ++row)
    report.elements_by_regime[mixture(row)] += mixture.rows().LengthOf(row);
  for (size_t i = 0; i < tensor.values.size(); ++i)
    report.structured = report.structured || (report.elements_by_regime[i] > 0 && Structured(tensor.values[i]));
  return report;
}

void FillPoison(DType dtype, std::span<std::byte> out, Stream& stream) {
  // All ones is a NaN in each of the float formats.
  if (Info(dtype).has_nan) {
    std::ranges::fill(out, std::byte{0xFF});
  } else {
    stream.Fill(out);
  }
}

double DrawScalar(const Scalar& scalar, const Generator& generator, const Shape& shape, Stream& stream) {
  const ShapeNames names(shape);
  const Result<std::vector<double>> numbers = GeneratorNumbers(generator, names.names());
  ASSAY_CHECK(numbers.ok());  // the shape is legal
  const std::vector<double>& n = numbers.value();
  const bool is_float = Info(scalar.dtype).is_float;
  double value = 0;
  switch (generator.kind) {
    case GeneratorKind::kExpression:
    case GeneratorKind::kConstant:
      value = n[0];
      break;
    case GeneratorKind::kNormal:
      value = n[0] + n[1] * stream.Normal();
      break;
    case GeneratorKind::kUniform:
      // Integers: each of those in [a, b] is as likely as the others.
      value = is_float
                  ? n[0] + (n[1] - n[0]) * stream.Unit()
                  : std::min(std::ceil(n[0]) + std::floor((std::floor(n[1]) - std::ceil(n[0]) + 1) * stream.Unit()),
                             std::floor(n[1]));
      break;
    case GeneratorKind::kLogUniform:
      value = std::clamp(n[0] * std::exp(std::log(n[1] / n[0]) * stream.Unit()), n[0], n[1]);
      break;
    case GeneratorKind::kAny:
      do value = DecodeElement(scalar.dtype, stream.Next());
      while (!std::isfinite(value));
      return value;
    default:
      ASSAY_CHECK(false);  // ParseScalarRegime lets no other through
  }
  if (is_float) value = std::clamp(value, LowestOf(scalar.dtype), HighestOf(scalar.dtype));
  return DecodeElement(scalar.dtype, EncodeElement(scalar.dtype, value));
}

std::vector<double> DrawScalars(const Contract& contract, const Shape& shape, Stream& stream, bool first_regime) {
  std::vector<double> scalars;
  for (const Scalar& scalar : contract.scalars) {
    const auto fixed = shape.scalars.find(scalar.name);
    if (fixed != shape.scalars.end()) {
      scalars.push_back(DecodeElement(scalar.dtype, EncodeElement(scalar.dtype, fixed->second)));
    } else if (scalar.from_program()) {
      scalars.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      scalars.push_back(DrawScalar(scalar, shape, stream, first_regime));
    }
  }
  return scalars;
}

double DrawScalar(const Scalar& scalar, const Shape& shape, Stream& stream, bool first_regime) {
  ASSAY_CHECK(!scalar.values.empty());
  const size_t regime = first_regime ? 0 : static_cast<size_t>(stream.Below(scalar.values.size()));
  return DrawScalar(scalar, scalar.values[regime], shape, stream);
}

}  // namespace assay
