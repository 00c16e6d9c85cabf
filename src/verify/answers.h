// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "contract/contract.h"
#include "contract/shape.h"
#include "record/seams.h"
#include "verify/chance.h"
#include "verify/compare.h"
#include "verify/ranking.h"

namespace assay {

// What the reference says about some slices of one call.
struct AnswerElement {
  size_t tensor = 0;   // index in contract.tensors
  int64_t offset = 0;  // in elements
  ExpectedElement expected;
};

// One row of an index output, best first, and the keys that it chooses from.
struct RankedRow {
  size_t tensor = 0;
  size_t slice = 0;  // which of the slices asked, not its number
  size_t first = 0;  // of its elements
  size_t count = 0;
  std::vector<Key> keys;
};

struct Collected {
  std::vector<size_t> begin;  // slice s is elements[begin[s] .. begin[s + 1])
  std::vector<AnswerElement> elements;
  std::vector<RankedRow> rows;
};

// Slices of the contract, or of an output that has its own.
struct AnswerPart {
  std::optional<size_t> own;
  std::vector<int64_t> slices;
};

// The worst element, or the worst slice, of a comparison.
struct Finding {
  size_t tensor = 0;
  int64_t offset = 0;
  int64_t slice = 0;
  double got = 0, expected = 0, error = 0, limit = 0;
  std::string rule;  // "element", "rms of one slice", ...
};

struct Answers : Collected {
  std::vector<int64_t> slices;    // their flat numbers, of one part after the other
  std::vector<AnswerPart> parts;  // the contract's slices come first
  size_t orders = 0;              // honest evaluations
  std::vector<double> honest;     // orders numbers for each element of the first `honest_slices` slices
  size_t honest_slices = 0;
  Texture texture = Texture::kStructured;  // of the values of this call; whoever drew them knows
  // An output that others are computed from and that cannot be used for it: nothing else was asked.
  std::optional<Finding> unusable;

  std::span<const double> HonestOf(size_t element) const {
    return element < begin[honest_slices] ? std::span(honest).subspan(element * orders, orders)
                                          : std::span<const double>();
  }
};

// A fault put into numbers that are parallel to answers.elements.
using NumbersFault = std::function<void(const Answers& answers, std::vector<double>& numbers)>;

// Roundings up to which min(K, lambda sqrt(K)) is K in every contract of any size.
inline constexpr double kShortChain = 64;

struct Judgement {
  int64_t elements = 0;
  int64_t excluded = 0;
  double worst = 0;  // largest error / limit over all rules; infinite for a NaN
  // The same over elements whose bound is an estimate.  A short chain of roundings (kShortChain) has a
  // bound that honest kernels attain and none can exceed; the precision rules hold their factor of two.
  double worst_estimated = 0;
  std::optional<Finding> finding;  // what is wrong; none when everything is right
  // Class stochastic, by tensor, in order of their offsets: for comparison with calls of other seeds.
  std::vector<std::pair<size_t, std::vector<ChanceDraw>>> draws;
};

// Compares an answer with what the reference says.  `outputs` as in TimedCall::tensors.
Judgement Judge(const Contract& contract, const Answers& answers, std::span<const std::span<const std::byte>> outputs);
// The same for an answer given as numbers, one for each of answers.elements: mutants and honest
// evaluations of the reference itself.
Judgement JudgeNumbers(const Contract& contract, const Answers& answers, std::span<const double> numbers);

// The right answer of each of the contract's slices that were asked, as one number: equal answers, rounded to the
// output's format, have equal ones.  Where a slice lies does not count, nor what a candidate left there.
std::vector<uint64_t> PrintsOf(const Contract& contract, const Answers& answers);
// Those of `slices` whose answer is another's as well.  An answer that is right for one of them may have
// been taken from the other, so it proves nothing of who computed it.
std::vector<int64_t> SharedAnswers(std::span<const int64_t> slices, std::span<const uint64_t> prints);

// "y[3,1016] (slice 3): got 0.25, expected 0.2600001, off by 1.0e-02, limit 3.1e-08 (element)"
std::string Describe(const Contract& contract, const Shape& shape, const Finding& finding);

// Whether the tensor is an output of this class, and whether the contract has one.
bool IsOf(CompareClass kind, const Tensor& tensor);
bool HasOutputOf(CompareClass kind, const Contract& contract);

// 0, 1, ... count - 1.
std::vector<int64_t> AllSlices(int64_t count);
// The slices to compare: all of them when they are few, else a draw of `most` without repeats that
// always has the first and the last, sorted.
std::vector<int64_t> DrawSlices(int64_t count, int64_t most, Stream& stream);
// The same slices with a draw of `some` in front, both parts sorted: the honest ensemble is asked for the
// first ones, and without a draw those would be the upper rows of every call.
std::vector<int64_t> SomeFirst(std::vector<int64_t> slices, size_t some, Stream& stream);

}  // namespace assay
