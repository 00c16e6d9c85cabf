// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "contract/contract.h"
#include "contract/shape.h"

namespace assay {

// One generator with its numbers, ready to write rows of a tensor.  Rows are made in a type that
// holds the tensor's elements (float, double, int32_t, int64_t) and stored by the caller.
class RegimeFiller {
 public:
  RegimeFiller(const Tensor& tensor, const Generator& generator, const ShapeNames& names);

  // Starts from standard normal values, which are cheapest to draw for many rows at once.
  bool needs_normal() const;
  // Nothing to do after the normal values: normal(0, 1).
  bool is_plain_normal() const;
  // Needs to see one row at a time; else any stretch of elements will do.
  bool works_by_row() const;

  // Finishes one row that already holds standard normal values if needs_normal().
  template <typename T>
  void Finish(std::span<T> row, Stream& stream);

 private:
  template <typename T>
  void Scale(std::span<T> row, double factor, double offset) const;
  template <typename T>
  void Uniform(std::span<T> row, Stream& stream) const;
  template <typename T>
  void LogUniform(std::span<T> row, Stream& stream) const;
  template <typename T>
  void Outliers(std::span<T> row, Stream& stream);
  template <typename T>
  void Ties(std::span<T> row, Stream& stream) const;
  template <typename T>
  void Sorted(std::span<T> row, Stream& stream) const;
  template <typename T>
  void Clustered(std::span<T> row, Stream& stream) const;
  template <typename T>
  void Subnormal(std::span<T> row, Stream& stream) const;
  template <typename T>
  void Special(std::span<T> row, Stream& stream) const;
  template <typename T>
  void Any(std::span<T> row, Stream& stream) const;
  template <typename T>
  void Captured(std::span<T> row, Stream& stream) const;

  double LogUniformNumber(Stream& stream) const;

  GeneratorKind kind_;
  DType dtype_;
  std::vector<double> numbers_;
  std::shared_ptr<const Recording> recorded_;
  bool special_;               // NaN and infinities may be drawn
  double low_, high_;          // the finite range that elements are kept in
  bool clamp_ = false;         // values can leave it
  double until_outlier_ = -1;  // elements before the next one, carried from row to row
};

// The row type of a dtype: float for f32 and smaller, double for f64, int32_t to 32 bits, else int64_t.
template <typename Use>
auto WithRowType(DType dtype, Use use) {
  if (dtype == DType::kF64) return use(double{});
  if (Info(dtype).is_float) return use(float{});
  return dtype == DType::kI64 ? use(int64_t{}) : use(int32_t{});
}

// Standard normal values for float rows; for integer rows they are drawn by Finish.
void FillBase(std::span<float> rows, Stream& stream);
void FillBase(std::span<double> rows, Stream& stream);
inline void FillBase(std::span<int32_t>, Stream&) {}
inline void FillBase(std::span<int64_t>, Stream&) {}

}  // namespace assay
