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

// The trusted definition, executed once per arithmetic in processes of its own.  Its answers never
// enter a candidate's process.
class Reference {
 public:
  // `cache`: where the built reference is kept.  `processes`: how many share one question.
  static Result<std::unique_ptr<Reference>> Start(const Contract& contract, const std::filesystem::path& cache,
                                                  int processes = 1);
  ~Reference();

  // Value and bound of these slices; the honest ensemble for the first `honest_slices` of them.
  Result<Answers> Ask(const TimedCall& call, std::span<const int64_t> slices, size_t honest_slices);
  // What the variant answers, parallel to `answers.elements`.
  Result<std::vector<double>> Numbers(const TimedCall& call, const Answers& answers, const Variant& variant);
  // Operations that the reference counts for these slices.
  Result<double> CountOperations(const TimedCall& call, std::span<const int64_t> slices);

 private:
  struct State;
  explicit Reference(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
