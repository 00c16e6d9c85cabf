// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/result.h"
#include "contract/contract.h"
#include "contract/reader.h"
#include "contract/shape.h"

namespace assay {

// [peer.NAME] with a `sequence` as it is written.
Result<KernelSequence> ReadSequence(const Reader& reader, const std::string& name);

// Where a tensor of a step comes from, or what it is: an earlier step's output, else a tensor of the contract.
struct StepTensor {
  std::optional<size_t> step;
  size_t index = 0;
};
// One step at one shape of the contract that the sequence stands for.
struct StepLayout {
  Shape shape;
  std::vector<std::optional<StepTensor>> tensors;  // by its tensors; none: absent, or an output that only steps read
  std::vector<std::optional<size_t>> scalars;      // by its scalars: the contract's; none: fixed by `shape`
};

// Sizes and connections of all steps.  The error is a text without place.
Result<std::vector<StepLayout>> LayOut(const Contract& ours, const Shape& shape, const KernelSequence& sequence);

}  // namespace assay
