// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "verify/answers.h"
#include "verify/reference.h"
#include "verify/situation.h"

namespace assay {

// What admission asks again and again: how would this answer fare in that situation?
class Trials {
 public:
  Trials(const Contract& contract, Reference& reference);

  // An answer as numbers, one for each of the situation's elements.
  Result<Judgement> OfNumbers(const Situation& situation, const std::vector<double>& numbers);
  // Outputs as a kernel left them.
  Result<Judgement> OfOutputs(const Situation& situation, const std::vector<std::span<const std::byte>>& tensors);

  struct Tried {
    Judgement judgement;
    std::vector<double> stored;  // what it left in the elements: tells two evaluations apart
  };
  Result<Tried> OfVariant(const Situation& situation, const Variant& variant, const NumbersFault& fault);

  // Whether the situation's answers are wrong for this call, which has other inputs and the same outputs.
  Result<bool> AnswersMove(const Situation& situation, const TimedCall& call, size_t output);

 private:
  const Contract& contract_;
  Reference& reference_;
  bool depends_;  // on what was returned: answers are asked anew for each
};

}  // namespace assay
