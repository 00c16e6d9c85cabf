// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "contract/contract.h"
#include "numerics/assay/environment.h"
#include "record/seams.h"
#include "verify/answers.h"

namespace assay {

// How a kernel that nobody wrote would compute: an honest order, or a mutant.
struct Variant {
  std::string name;  // "pairwise fma", "narrow bf16 x"
  Order order = Order::kInOrder;
  bool fma = false;
  Elementary elementary = Elementary::kCorrect;
  Mutant mutant;
};

// The ensemble of the RMS rule, and the honest kernels of admission.
std::span<const Variant> HonestVariants();

// What a kernel leaves in its outputs, by tensor; empty where there is none.
using Outputs = std::vector<std::vector<std::byte>>;

// Puts an output into a call; what the call read there, if anything, is kept beside it.
void SetOutput(TimedCall& call, size_t tensor, std::span<const std::byte> output);

// The trusted definition, executed once per arithmetic in processes of its own.  Its answers never
// enter a candidate's process.
class Reference {
 public:
  // `cache`: where the built reference is kept.  `processes`: how many share one question.
  static Result<std::unique_ptr<Reference>> Start(const Contract& contract, const std::filesystem::path& cache,
                                                  int processes = 1);
  ~Reference();

  // Value and bound of these slices, and of some of the outputs with slices of their own; the honest
  // ensemble for the first `honest_slices` of them.  Answers that are computed from outputs (IsGiven)
  // speak of those in `call`, and of nobody else's.
  Result<Answers> Ask(const TimedCall& call, std::span<const int64_t> slices, size_t honest_slices);
  // What the variant answers, parallel to `answers.elements`.
  Result<std::vector<double>> Numbers(const TimedCall& call, const Answers& answers, const Variant& variant);
  // What a kernel that computes like the variant, with the fault put in, would leave in all its outputs.
  Result<Outputs> Produce(const TimedCall& call, const Variant& variant, const NumbersFault& fault);
  // Operations that the reference counts for these slices.
  Result<double> CountOperations(const TimedCall& call, std::span<const int64_t> slices);

 private:
  struct State;
  explicit Reference(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
