// SPDX-License-Identifier: Apache-2.0
#include "contract/contract.h"

#include <algorithm>

namespace assay {
namespace {

template <typename T>
const T* ByName(const std::vector<T>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &T::name);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

const Axis* Contract::FindAxis(std::string_view wanted) const { return ByName(axes, wanted); }
const Tensor* Contract::FindTensor(std::string_view wanted) const { return ByName(tensors, wanted); }
const Scalar* Contract::FindScalar(std::string_view wanted) const { return ByName(scalars, wanted); }
const Workload* Contract::FindWorkload(std::string_view wanted) const { return ByName(workloads, wanted); }
const ReferenceKernel* Contract::FindReference(std::string_view wanted) const { return ByName(references, wanted); }

}  // namespace assay
