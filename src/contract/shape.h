// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"

namespace assay {

// Everything about one call that is a number of the shape: a value for every axis and every stride,
// which optional tensors are null, which outputs share memory, and the scalars that a workload fixes.
struct Shape {
  std::map<std::string, int64_t> axes;
  std::map<std::string, int64_t> strides;  // in elements
  std::set<std::string> absent_tensors;
  std::map<std::string, double> scalars;       // all others are drawn
  std::map<std::string, std::string> aliases;  // output -> the input at whose address it lies
  bool operator==(const Shape&) const = default;
};

// "B=1 T=1024 H=16 ldk=1024 -lse y@x": for reports and logs, in the order of `args`.
std::string Describe(const Contract& contract, const Shape& shape);

// How one tensor lies in memory at one shape.
struct TensorLayout {
  DType dtype = DType::kF32;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;  // in elements
  int64_t element_count = 0;
  int64_t byte_span = 0;  // from the first byte to past the last element, gaps included; 0 when empty
  bool padded = false;    // there are gaps between rows
  bool operator==(const TensorLayout&) const = default;
};

// Bytes of the largest span that one tensor may have; above it a shape is an overflow, not a request.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

Result<TensorLayout> LayoutOf(const Contract& contract, const Tensor& tensor, const Shape& shape);

// Offset in elements of one index (one number per dimension).
int64_t ElementOffset(const TensorLayout& layout, std::span<const int64_t> index);
// Number of the element in row-major order -> its offset.
int64_t ElementOffset(const TensorLayout& layout, int64_t element);

// The shape that a workload is timed at: strides dense and optional tensors present unless it says otherwise.
Result<Shape> WorkloadShape(const Contract& contract, const Workload& workload);

// Dense strides for these axes (all tensors present).
Result<Shape> DenseShape(const Contract& contract, const std::map<std::string, int64_t>& axes);

// Whether an output and an input of one call may lie at one address: the contract says so, both are there
// and lie in memory alike.
bool MayShare(const Contract& contract, const Tensor& output, const Tensor& input, const Shape& shape);

// Within the axes' ranges, `require` holds, every tensor has a layout, every generator has its numbers.
bool Legal(const Contract& contract, const Shape& shape);
// Why not; Ok when legal.
Status CheckLegal(const Contract& contract, const Shape& shape);

struct ShapeLimits {
  double flops = 50e6;
  double bytes = 64.0 * 1024 * 1024;
};

// The limits that a contract's policy sets, else the defaults.
ShapeLimits LimitsOf(const Contract& contract);

// Shapes to verify at, around and between the public ones: 0 where an axis allows it, 1, sizes near
// the named ones, primes, neighbours of the workloads; optional tensors absent in half of them, outputs
// at the address of an input in half of those that may; strides padded or dense at random.  The last one uses most of
// the limits.  All are legal and distinct; fewer than `count` come back only when the contract has no more (never
// none).
std::vector<Shape> DrawShapes(const Contract& contract, int count, const ShapeLimits& limits, Stream& stream);

// Points of the contract's slice axes at this shape; 1 when the slice is the whole call.
int64_t SliceCount(const Contract& contract, const Shape& shape);
// The index of slice number `flat`, in the order of the contract's `slice`, row-major.
std::vector<int64_t> SliceIndex(const Contract& contract, const Shape& shape, int64_t flat);
// The same for an output that has its own slice (compare.slice), else the contract's.
int64_t SliceCount(const Contract& contract, const Tensor& output, const Shape& shape);
std::vector<int64_t> SliceIndex(const Contract& contract, const Tensor& output, const Shape& shape, int64_t flat);

// What `cost` says; kNotFound when the contract has no cost.
Result<double> Operations(const Contract& contract, const Shape& shape);
// `cost.bytes`, else every present tensor once (inout twice: it is read and written).
Result<double> BytesTouched(const Contract& contract, const Shape& shape);

// The values of a shape as names for an expression; keeps the shape's values by copy.
class ShapeNames {
 public:
  explicit ShapeNames(const Shape& shape);
  const Value* Find(std::string_view name) const;
  Names names() const;  // valid while this object lives

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace assay
