// SPDX-License-Identifier: Apache-2.0
#pragma once

// For the authors of contracts: what an `inputs.cpp` is written with.
//   #include <assay/draw.h>
//   void Inputs(assay::Draw& draw) {
//     auto row = draw.tensor("row");
//     for (int64_t i = 0; i < row.size(); ++i) row.set(i, static_cast<double>(draw.random().Below(draw.axis("R"))));
//   }
// It sees the axes and everything that was drawn before it, fills the tensors and scalars that say
// from = "inputs.cpp", each element of them, and takes chance from draw.random() alone: one seed must
// give one call.

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "formats.h"
#include "tensor.h"

namespace assay {

// A stream of chance that belongs to one call.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // 64 random bits (SplitMix64, Steele, Lea and Flood 2014).
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15U;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31);
  }
  // In [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Unit(); }
  // In [0, count); count is at least 1.
  int64_t Below(int64_t count) {
    if (count < 1) FailReference("random().Below(" + std::to_string(count) + "): there is no such number");
    return static_cast<int64_t>(Unit() * static_cast<double>(count));
  }
  // Mean 0, deviation 1 (Box and Muller 1958).
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Unit()));
    return radius * std::cos(2 * std::numbers::pi * Unit());
  }

 private:
  uint64_t state_;
};

// A tensor of the call: one that was drawn before, to read, or one to fill, which may be read as well.
class DrawTensor {
 public:
  // `to_fill`: null where the tensor was drawn before.
  DrawTensor(const TensorView* view, std::byte* to_fill, std::vector<bool>* done)
      : view_(view), to_fill_(to_fill), done_(done) {}

  int rank() const { return view_->rank; }
  int64_t extent(int dimension) const {
    if (dimension < 0 || dimension >= view_->rank) Fail("has no dimension " + std::to_string(dimension));
    return view_->shape[dimension];
  }
  // Elements.
  int64_t size() const {
    int64_t size = 1;
    for (int d = 0; d < view_->rank; ++d) size *= view_->shape[d];
    return size;
  }

  // By the number of the element, the last index running fastest, or by all indices.
  double get(int64_t element) const { return Load(OffsetOf(element)); }
  double get(std::initializer_list<int64_t> index) const { return Load(OffsetOf(index)); }
  // The nearest value of the dtype is stored; one that it cannot hold ends the draw.
  void set(int64_t element, double value) { Store(element, OffsetOf(element), value); }
  void set(std::initializer_list<int64_t> index, double value) {
    const int64_t offset = OffsetOf(index);
    Store(offset, offset, value);  // what is filled is dense
  }

 private:
  [[noreturn]] ASSAY_COLD void Fail(const std::string& what) const {
    FailReference("tensor " + internal::Quoted(view_->name) + " " + what);
  }

  int64_t OffsetOf(std::initializer_list<int64_t> index) const {
    return internal::ElementOffset(*view_, index.begin(), index.size());
  }
  int64_t OffsetOf(int64_t element) const {
    if (element < 0 || element >= size())
      Fail("has " + std::to_string(size()) + " elements; number " + std::to_string(element) + " was asked for");
    int64_t offset = 0;
    for (int d = view_->rank - 1; d >= 0; --d) {
      offset += element % view_->shape[d] * view_->stride[d];
      element /= view_->shape[d];
    }
    return offset;
  }

  double Load(int64_t offset) const {
    return LoadElement(view_->dtype, to_fill_ != nullptr ? to_fill_ : view_->data, offset);
  }
  void Store(int64_t element, int64_t offset, double value) {
    if (to_fill_ == nullptr) Fail("was drawn by its generators; only one that says from = \"inputs.cpp\" can be set");
    const FormatTraits& format = Traits(view_->dtype);
    const double rounded = RoundTo(view_->dtype, value);
    const bool fits = format.floating ? std::isfinite(rounded) || !std::isfinite(value)
                                      : value >= format.lowest && value <= format.max;
    if (!fits) {
      Fail("element " + std::to_string(element) + ": " + std::to_string(value) + " does not fit " +
           std::string(format.name));
    }
    StoreElement(view_->dtype, to_fill_, offset, value);
    (*done_)[static_cast<size_t>(element)] = true;
  }

  const TensorView* view_;
  std::byte* to_fill_;
  std::vector<bool>* done_;
};

// One call under way.
class Draw {
 public:
  struct Filled {
    std::byte* bytes = nullptr;  // null: drawn before
    std::vector<bool> done;      // by element
  };

  // `filled`: by tensor of the context.  Scalars that are NaN are to be set.
  Draw(Context* context, std::vector<Filled>* filled, uint64_t seed)
      : context_(context), filled_(filled), scalar_open_(context->scalars.size()), random_(seed) {
    for (size_t i = 0; i < scalar_open_.size(); ++i) scalar_open_[i] = std::isnan(context->scalars[i].value);
  }

  int64_t axis(std::string_view name) const {
    for (const NamedAxis& axis : context_->axes) {
      if (axis.name == name) return axis.value;
    }
    Unknown("axis", name);
  }

  double scalar(std::string_view name) const {
    const NamedScalar& scalar = context_->scalars[ScalarIndex(name)];
    if (std::isnan(scalar.value)) FailReference("scalar " + internal::Quoted(name) + " is read before it is set");
    return scalar.value;
  }
  // The nearest value of the dtype is passed.
  void set_scalar(std::string_view name, double value) {
    const size_t index = ScalarIndex(name);
    NamedScalar& scalar = context_->scalars[index];
    if (!scalar_open_[index])
      FailReference("scalar " + internal::Quoted(name) + " was drawn; only one that says from = \"inputs.cpp\" is set");
    const FormatTraits& format = Traits(scalar.dtype);
    const double rounded = RoundTo(scalar.dtype, value);
    const bool fits = format.floating ? std::isfinite(rounded) : value >= format.lowest && value <= format.max;
    if (!fits) {
      FailReference("scalar " + internal::Quoted(name) + ": " + std::to_string(value) + " does not fit " +
                    std::string(format.name));
    }
    scalar.value = rounded;
  }

  // Whether an optional tensor is there in this call.
  bool has(std::string_view name) const { return context_->tensors[TensorIndex(name)].present; }

  DrawTensor tensor(std::string_view name) const {
    const size_t index = TensorIndex(name);
    const TensorView& view = context_->tensors[index];
    if (!view.present)
      FailReference("tensor " + internal::Quoted(name) + " is absent in this call; ask draw.has() first");
    Filled& filled = (*filled_)[index];
    return {&view, filled.bytes, &filled.done};
  }

  Random& random() { return random_; }

 private:
  [[noreturn]] ASSAY_COLD static void Unknown(std::string_view kind, std::string_view name) {
    std::string text = "it asks for ";
    text += kind;
    FailReference(text + " " + internal::Quoted(name) + ", which the contract does not have among its inputs");
  }
  size_t ScalarIndex(std::string_view name) const {
    for (size_t i = 0; i < context_->scalars.size(); ++i) {
      if (context_->scalars[i].name == name) return i;
    }
    Unknown("scalar", name);
  }
  size_t TensorIndex(std::string_view name) const {
    for (size_t i = 0; i < context_->tensors.size(); ++i) {
      if (context_->tensors[i].name == name) return i;
    }
    Unknown("tensor", name);
  }

  Context* context_;
  std::vector<Filled>* filled_;
  std::vector<bool> scalar_open_;
  Random random_;
};

}  // namespace assay
