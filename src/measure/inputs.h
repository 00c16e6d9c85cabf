// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"

namespace assay {

// The contents of one round's calls, drawn once and copied to every arm before its unit: all arms
// then compute the same numbers, each content reaches each process once, and the copy leaves all
// of them in the same cache state.
class InputDraw {
 public:
  // `others`: tensors that are not drawn, because another kernel writes them.
  static Result<InputDraw> Create(const Contract& contract, const Shape& shape, size_t slots,
                                  const std::set<size_t>& others = {});
  InputDraw(InputDraw&& other) noexcept;
  InputDraw& operator=(InputDraw&&) = delete;
  ~InputDraw();

  // New contents for the first `slots` slots, on `threads` threads: a mixture of the contract's regimes, or from 0 on
  // the one of PureRegimes alone.
  Status Redraw(const Seed& seed, size_t slots, int threads, int regime = -1);

  std::span<const std::byte> TensorBytes(size_t tensor, size_t slot) const;  // empty: output, absent or another's
  std::span<const double> Scalars(size_t slot) const;
  bool Structured(size_t slot) const;
  size_t slots() const { return slots_; }
  int64_t bytes_per_slot() const { return bytes_per_slot_; }

 private:
  InputDraw() = default;
  const Contract* contract_ = nullptr;
  Shape shape_;
  std::vector<TensorLayout> layouts_;
  std::vector<int64_t> offsets_;  // within a slot; -1: no input
  std::vector<std::vector<double>> scalars_;
  std::vector<char> structured_;
  std::byte* memory_ = nullptr;  // shared mapping: slots are no private memory
  size_t mapped_ = 0;
  size_t slots_ = 0;
  int64_t bytes_per_slot_ = 0;
};

}  // namespace assay
