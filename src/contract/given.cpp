// SPDX-License-Identifier: Apache-2.0
#include "contract/given.h"

#include <algorithm>

namespace assay {

bool IsGiven(const Contract& contract, const Tensor& output) {
  if (!output.compare) return false;
  if (output.compare->kind == CompareClass::kSolve) return true;
  return std::ranges::any_of(contract.tensors, [&](const Tensor& other) {
    return other.compare && (other.compare->given == output.name || other.compare->along == output.name);
  });
}

bool DependsOnCandidate(const Contract& contract) {
  return std::ranges::any_of(contract.tensors, [&](const Tensor& tensor) { return IsGiven(contract, tensor); });
}

int GivenDepth(const Contract& contract, const Tensor& output) {
  int depth = 0;
  if (!output.compare) return depth;
  for (const std::string& name : {output.compare->given, output.compare->along}) {
    const Tensor* const other = name.empty() ? nullptr : contract.FindTensor(name);
    // Circles were refused when the contract was read.
    if (other != nullptr) depth = std::max(depth, GivenDepth(contract, *other) + 1);
  }
  return depth;
}

}  // namespace assay
