// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a reference reads and writes: named axes, scalars and strided tensors, every access checked.
// The author of a reference is not trusted: a wrong index ends in a message, never in a crash.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats.h"

namespace assay {

inline constexpr int kMaxRank = 8;

// kGiven: an output of which the reference also sees what the candidate returned, by a.given().
enum class OracleRole : uint8_t { kIn, kOut, kInOut, kGiven };

// Ends one oracle run with a text for the author of the reference.
struct ReferenceFailure {
  std::string message;
};

// Cold, like everything that only builds a message: the compiler then spends no time on making it fast.
#define ASSAY_COLD [[gnu::cold, gnu::noinline]]

[[noreturn]] ASSAY_COLD inline void FailReference(std::string message) { throw ReferenceFailure{std::move(message)}; }

struct TensorView {
  std::string_view name;
  DType dtype = DType::kF32;
  OracleRole role = OracleRole::kIn;
  bool present = false;  // optional tensors may be absent
  int rank = 0;
  int64_t shape[kMaxRank] = {};
  int64_t stride[kMaxRank] = {};    // in elements
  const std::byte* data = nullptr;  // null where the reference may only write
};

struct NamedAxis {
  std::string_view name;
  int64_t value = 0;
};

struct NamedScalar {
  std::string_view name;
  DType dtype = DType::kF32;
  double value = 0.0;
  int64_t integer = 0;
};

// One element of an output as the reference computed it.
struct Answer {
  double value = 0.0;
  double bound = 0.0;
  uint32_t flags = 0;
};
inline constexpr uint32_t kAnswerExact = 1;           // every order of evaluation gives these very bits
inline constexpr uint32_t kAnswerExcluded = 2;        // no information: overflow within reach, bound without end
inline constexpr uint32_t kAnswerAmbiguous = 4;       // a branch was taken that rounding could have decided otherwise
inline constexpr int kAnswerPartShift = 3;            // parts beyond the first of an element that has several
inline constexpr uint32_t kAnswerFlagsEnd = 32;       // flags of a record are below it
inline constexpr uint32_t kAnswerSkipped = 1U << 31;  // not sampled: never leaves the oracle

struct NamedAnswer {
  std::string name;
  int rank = 0;
  std::array<int64_t, kMaxRank> index{};
  Answer answer;
};

// Where answers go; the oracle writes them into its response.
class Sink {
 public:
  virtual void Write(int tensor, int64_t element, const Answer& answer) = 0;
  virtual void Publish(NamedAnswer answer) = 0;
  // Told of each element read, only while bytes are counted.
  virtual void Touch(int tensor, int64_t element) = 0;

 protected:
  ~Sink() = default;
};

struct Context {
  std::vector<NamedAxis> axes;
  std::vector<NamedScalar> scalars;
  std::vector<TensorView> tensors;
  Sink* sink = nullptr;
};

// One line of a tensor along one dimension.
struct RawRow {
  const std::byte* data = nullptr;  // of the tensor, since four-bit elements have no address
  int64_t offset = 0;
  int64_t stride = 1;
  int64_t count = 0;
  DType dtype = DType::kF32;
  int tensor = -1;

  double Load(int64_t i) const { return LoadElement(dtype, data, offset + i * stride); }
  bool Is(DType type) const { return dtype == type && stride == 1; }
};

// Marks the dimension that a row runs along: a.row("b", assay::all, j) is column j of b.
struct All {};
inline constexpr All all{};

namespace internal {

// A dimension that runs is written as -1 here; indices are never negative otherwise.
inline constexpr int64_t kRuns = -1;
inline int64_t AsIndex(All) { return kRuns; }
inline int64_t AsIndex(int64_t i) { return i < 0 ? INT64_MIN : i; }

ASSAY_COLD inline std::string Quoted(std::string_view name) {
  std::string text = "\"";
  text += name;
  text += "\"";
  return text;
}

[[noreturn]] ASSAY_COLD inline void UnknownName(std::string_view kind, std::string_view name) {
  std::string text = "the reference asks for ";
  text += kind;
  FailReference(text + " " + Quoted(name) + ", which the contract does not have");
}

[[noreturn]] ASSAY_COLD inline void OutOfRange(const TensorView& tensor, int dimension, int64_t index) {
  std::string text = "tensor " + Quoted(tensor.name) + ": index " + std::to_string(dimension) + " is ";
  text += index == INT64_MIN ? std::string("negative") : std::to_string(index);
  FailReference(text + ", but that dimension has " + std::to_string(tensor.shape[dimension]) + " elements");
}

[[noreturn]] ASSAY_COLD inline void WrongRank(const TensorView& tensor, size_t given) {
  FailReference("tensor " + Quoted(tensor.name) + " has " + std::to_string(tensor.rank) +
                " dimensions, the reference gives " + std::to_string(given) + " indices");
}

[[noreturn]] ASSAY_COLD inline void FailTensor(std::string_view name, const char* what) {
  FailReference("tensor " + Quoted(name) + what);
}

[[gnu::noinline]] inline int FindTensor(const Context& context, std::string_view name) {
  for (size_t i = 0; i < context.tensors.size(); ++i) {
    if (context.tensors[i].name == name) return static_cast<int>(i);
  }
  UnknownName("tensor", name);
}

inline const TensorView& Present(const Context& context, int index) {
  const TensorView& tensor = context.tensors[static_cast<size_t>(index)];
  if (!tensor.present) FailTensor(tensor.name, " is absent in this call; ask a.has() first");
  return tensor;
}

inline const TensorView& Readable(const Context& context, int index) {
  const TensorView& tensor = Present(context, index);
  if (tensor.data == nullptr) FailTensor(tensor.name, " is an output; the reference may not read it");
  return tensor;
}

// Offset in elements of a full set of indices.
[[gnu::noinline]] inline int64_t ElementOffset(const TensorView& tensor, const int64_t* index, size_t given) {
  if (static_cast<int>(given) != tensor.rank) WrongRank(tensor, given);
  int64_t offset = 0;
  for (int d = 0; d < tensor.rank; ++d) {
    if (index[d] < 0 || index[d] >= tensor.shape[d]) OutOfRange(tensor, d, index[d]);
    offset += index[d] * tensor.stride[d];
  }
  return offset;
}

// The row of which `index` fixes all dimensions but one: the one that runs, else the last.
[[gnu::noinline]] inline RawRow FindRow(const Context& context, std::string_view name, const int64_t* index,
                                        size_t given) {
  const int id = FindTensor(context, name);
  const TensorView& tensor = Readable(context, id);
  RawRow row;
  row.data = tensor.data;
  row.dtype = tensor.dtype;
  row.tensor = id;
  int running = -1;
  for (size_t d = 0; d < given; ++d) {
    if (index[d] != kRuns) continue;
    if (running >= 0) FailTensor(name, ": only one dimension of a row can be assay::all");
    running = static_cast<int>(d);
  }
  if (running < 0) running = static_cast<int>(given);
  const size_t needed = running == static_cast<int>(given) ? given + 1 : given;
  if (static_cast<int>(needed) != tensor.rank) WrongRank(tensor, given);
  for (int d = 0; d < tensor.rank; ++d) {
    if (d == running) continue;
    if (index[d] < 0 || index[d] >= tensor.shape[d]) OutOfRange(tensor, d, index[d]);
    row.offset += index[d] * tensor.stride[d];
  }
  row.stride = tensor.stride[running];
  row.count = tensor.shape[running];
  return row;
}

// One element as a row of one.
[[gnu::noinline]] inline RawRow FindElement(const Context& context, std::string_view name, const int64_t* index,
                                            size_t given) {
  RawRow element;
  element.tensor = FindTensor(context, name);
  const TensorView& tensor = Readable(context, element.tensor);
  element.data = tensor.data;
  element.dtype = tensor.dtype;
  element.offset = ElementOffset(tensor, index, given);
  element.count = 1;
  return element;
}

struct Target {
  int tensor;
  int64_t element;
};
[[gnu::noinline]] inline Target FindOutput(const Context& context, std::string_view name, const int64_t* index,
                                           size_t given) {
  const int id = FindTensor(context, name);
  const TensorView& tensor = Present(context, id);
  if (tensor.role == OracleRole::kIn) FailTensor(name, " is no output; the reference may not write it");
  return {id, ElementOffset(tensor, index, given)};
}

[[noreturn]] ASSAY_COLD inline void FailRow(const RawRow& row, int64_t i) {
  FailReference("row of tensor number " + std::to_string(row.tensor) + ": element " + std::to_string(i) + " of " +
                std::to_string(row.count));
}

[[gnu::noinline]] inline int64_t FindAxis(const Context& context, std::string_view name) {
  for (const NamedAxis& axis : context.axes) {
    if (axis.name == name) return axis.value;
  }
  UnknownName("axis", name);
}

[[gnu::noinline]] inline const NamedScalar& FindScalar(const Context& context, std::string_view name) {
  for (const NamedScalar& scalar : context.scalars) {
    if (scalar.name == name) return scalar;
  }
  UnknownName("scalar", name);
}

}  // namespace internal
}  // namespace assay
