// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an author's Reference is handed: the call's arguments and the slice to compute.

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "environment.h"
#include "tensor.h"

namespace assay {

// One arithmetic's way to do everything that is not an operator; specialised beside each type:
//   Real Leaf(value, is_integer)         an input or a constant
//   Real Element(row, i)                 element of an input
//   Real Apply(Fn, x), Cast(DType, x), Select(condition, a, b), Smaller/Larger(a, b), Abs(x)
//   Sum(n, term), Dot(n, a, b), DotRows(row, row), Max(n, term), ArgMax(n, term), Centred(n, term)
//   SoftmaxFinish(store, values, sums)   see softmax.h
//   Answer Report(x, tensor, element)    what an output says; tensor -1 is a published number
template <class Real>
struct Ops;

// A line of a tensor; a view, cheap to copy.
template <class Real>
class Row {
 public:
  Row() = default;
  explicit Row(const RawRow& raw) : raw_(raw) {}

  int64_t size() const { return raw_.count; }
  Real operator[](int64_t i) const {
    if (i < 0 || i >= raw_.count) internal::FailRow(raw_, i);
    return Ops<Real>::Element(raw_, i);
  }
  const RawRow& raw() const { return raw_; }

 private:
  RawRow raw_;
};

// A line of a tensor of an integer type, as numbers to count and index with.
class Integers {
 public:
  Integers(const RawRow& raw, Sink* sink) : raw_(raw), sink_(sink) {}

  int64_t size() const { return raw_.count; }
  int64_t operator[](int64_t i) const {
    if (i < 0 || i >= raw_.count) internal::FailRow(raw_, i);
    const int64_t element = raw_.offset + i * raw_.stride;
    if (environment.counters != nullptr) sink_->Touch(raw_.tensor, element);
    return LoadInteger(raw_.dtype, raw_.data, element);
  }

 private:
  RawRow raw_;
  Sink* sink_;
};

// The one point of the slice axes that this call computes: the contract's, or those of an output that
// has its own.
class Slice {
 public:
  Slice(const int64_t* index, int rank, std::string_view output = {}) : rank_(rank), output_(output) {
    for (int i = 0; i < rank; ++i) index_[static_cast<size_t>(i)] = index[i];
  }

  int rank() const { return rank_; }
  // Whether this call computes a slice of an output that has slices of its own, and nothing else.
  bool of(std::string_view output) const { return !output_.empty() && output_ == output; }
  template <size_t N>
  std::array<int64_t, N> index() const {
    if (static_cast<int>(N) != rank_) FailRank(N);
    std::array<int64_t, N> result{};
    for (size_t i = 0; i < N; ++i) result[i] = index_[i];
    return result;
  }

 private:
  [[noreturn]] ASSAY_COLD void FailRank(size_t taken) const {
    FailReference("the contract's slice has " + std::to_string(rank_) + " axes, the reference takes " +
                  std::to_string(taken));
  }

  std::array<int64_t, kMaxRank> index_{};
  int rank_;
  std::string_view output_;
};

// An element that is drawn at random (class stochastic): `kept` with the probability given, else `otherwise`.
template <class Real>
struct Chance {
  Real probability, kept, otherwise;
};

// How well what the candidate returned solves its equation (class solve): the residual, and the scale
// that makes it free of units, as in |b - Ax|_i and (|A||x| + |b|)_i.  `terms` is the length of the
// recurrences that an honest solver goes through, the n of gamma_n.
template <class Real>
struct Residual {
  Real value, scale;
  int64_t terms;
};

// Assigning writes one element of an output.
template <class Real>
class OutputElement {
 public:
  OutputElement(Sink* sink, int tensor, int64_t element) : sink_(sink), tensor_(tensor), element_(element) {}
  void operator=(const Real& value) const {
    Answer answer = Ops<Real>::Report(value, tensor_, element_);
    if ((answer.flags & kAnswerSkipped) != 0) return;
    if (environment.ambiguous) answer.flags |= kAnswerAmbiguous;
    sink_->Write(tensor_, element_, answer);
  }
  void operator=(const Chance<Real>& chance) const {
    WritePart(chance.kept, 0);
    WritePart(chance.otherwise, 1);
    WritePart(chance.probability, 2);
  }
  void operator=(const Residual<Real>& residual) const {
    Answer answer = Ops<Real>::Report(residual.value, tensor_, element_);
    const Answer scale = Ops<Real>::Report(residual.scale, tensor_, element_);
    if (((answer.flags | scale.flags) & kAnswerSkipped) != 0) return;
    answer.bound = scale.value >= 0.0 ? scale.value : 0.0;
    WriteAnswer(answer, 1);
    WriteAnswer({static_cast<double>(residual.terms), 0.0, 0}, 2);
  }
  void operator=(const Choice& choice) const {
    const bool ambiguous = choice.ambiguous || environment.ambiguous;
    sink_->Write(tensor_, element_, {static_cast<double>(choice.index), 0.0, ambiguous ? kAnswerAmbiguous : 0U});
  }

 private:
  void WritePart(const Real& value, uint32_t part) const {
    const Answer answer = Ops<Real>::Report(value, tensor_, element_);
    if ((answer.flags & kAnswerSkipped) == 0) WriteAnswer(answer, part);
  }
  void WriteAnswer(Answer answer, uint32_t part) const {
    if (environment.ambiguous) answer.flags |= kAnswerAmbiguous;
    answer.flags |= part << kAnswerPartShift;
    sink_->Write(tensor_, element_, answer);
  }

  Sink* sink_;
  int tensor_;
  int64_t element_;
};

// An element of an output as the candidate returned it: an index or a number, as it is needed.
template <class Real>
class GivenElement {
 public:
  GivenElement(Real number, int64_t integer) : number_(number), integer_(integer) {}
  operator Real() const { return number_; }      // NOLINT(google-explicit-constructor)
  operator int64_t() const { return integer_; }  // NOLINT(google-explicit-constructor)

 private:
  Real number_;
  int64_t integer_;
};

struct Honest;
struct Counted;

template <class Real>
class Args {
 public:
  explicit Args(const Context& context) : context_(&context) {}

  // Class solve: whether this call judges what the candidate returned (write a Residual), or computes
  // the solution itself.
  static constexpr bool judging() { return !std::is_same_v<Real, Honest> && !std::is_same_v<Real, Counted>; }

  int64_t axis(std::string_view name) const { return internal::FindAxis(*context_, name); }

  Real scalar(std::string_view name) const {
    const NamedScalar& scalar = internal::FindScalar(*context_, name);
    return Ops<Real>::Leaf(scalar.value, !IsFloating(scalar.dtype));
  }

  // Whether an optional tensor is there in this call.
  bool has(std::string_view name) const {
    return context_->tensors[static_cast<size_t>(internal::FindTensor(*context_, name))].present;
  }

  // Indices of all dimensions but the last; or of all, with assay::all for the one that runs.
  template <class... Index>
  Row<Real> row(std::string_view name, Index... index) const {
    const std::array<int64_t, sizeof...(Index) + 1> list{internal::AsIndex(index)..., 0};
    return Row<Real>(internal::FindRow(*context_, name, list.data(), sizeof...(Index)));
  }

  template <class... Index>
  Real at(std::string_view name, Index... index) const {
    RawRow element = Element(name, index...);
    return Ops<Real>::Element(element, 0);
  }

  // An element or a scalar of an integer type, as a number to count and index with.
  template <class... Index>
  int64_t integer(std::string_view name, Index... index) const {
    if constexpr (sizeof...(Index) == 0) {
      for (const NamedScalar& scalar : context_->scalars) {
        if (scalar.name == name) return scalar.integer;
      }
    }
    return Integers(Element(name, index...), context_->sink)[0];
  }

  // Like row, of an integer type: one lookup by name for many numbers.
  template <class... Index>
  Integers integers(std::string_view name, Index... index) const {
    const std::array<int64_t, sizeof...(Index) + 1> list{internal::AsIndex(index)..., 0};
    return {internal::FindRow(*context_, name, list.data(), sizeof...(Index)), context_->sink};
  }

  template <class... Index>
  GivenElement<Real> given(std::string_view name, Index... index) const {
    const RawRow element = Element(name, index...);
    const double value = element.Load(0);
    return {Ops<Real>::Leaf(value, !IsFloating(element.dtype)),
            IsFloating(element.dtype) ? 0 : LoadInteger(element.dtype, element.data, element.offset)};
  }

  template <class... Index>
  OutputElement<Real> out(std::string_view name, Index... index) const {
    const std::array<int64_t, sizeof...(Index) + 1> list{internal::AsIndex(index)..., 0};
    const internal::Target target = internal::FindOutput(*context_, name, list.data(), sizeof...(Index));
    return {context_->sink, target.tensor, target.element};
  }

  // publish(name, indices..., value): an intermediate that a comparison needs.
  template <class... Rest>
  void publish(std::string_view name, Rest... rest) const {
    static_assert(sizeof...(Rest) >= 1 && sizeof...(Rest) <= kMaxRank + 1);
    const std::tuple<Rest...> all_of{rest...};
    NamedAnswer answer;
    answer.name = name;
    answer.rank = static_cast<int>(sizeof...(Rest)) - 1;
    CopyIndices(all_of, answer, std::make_index_sequence<sizeof...(Rest) - 1>{});
    answer.answer = Ops<Real>::Report(Real(std::get<sizeof...(Rest) - 1>(all_of)), -1, 0);
    if ((answer.answer.flags & kAnswerSkipped) != 0) return;
    if (environment.ambiguous) answer.answer.flags |= kAnswerAmbiguous;
    context_->sink->Publish(std::move(answer));
  }

 private:
  template <class Tuple, size_t... I>
  static void CopyIndices(const Tuple& list, NamedAnswer& answer, std::index_sequence<I...>) {
    ((answer.index[I] = static_cast<int64_t>(std::get<I>(list))), ...);
  }

  template <class... Index>
  RawRow Element(std::string_view name, Index... index) const {
    const std::array<int64_t, sizeof...(Index) + 1> list{internal::AsIndex(index)..., 0};
    return internal::FindElement(*context_, name, list.data(), sizeof...(Index));
  }

  const Context* context_;
};

}  // namespace assay
